package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

// program is a small computation with one value of each distribution.
type program struct {
	cp   *Checkpoint
	c    *comm.Comm
	n    int
	lo   int
	hi   int
	v    []float64 // partitioned
	sums []float64 // replicated
	mine int       // local
	iter int

	still bool // hardly any of v changes
}

// newValues is the program without a checkpoint.
func newValues(c *comm.Comm, n int) *program {
	p := &program{c: c, n: n}
	rank, size := 0, 1
	if c != nil {
		rank, size = int(c.Rank()), c.Size()
	}
	p.lo, p.hi = rank*p.n/size, (rank+1)*p.n/size
	p.v = make([]float64, p.hi-p.lo)
	for i := range p.v {
		p.v[i] = float64(p.lo + i)
	}
	return p
}

// add adds the values to the checkpoint.
func (p *program) add(local bool) error {
	err := errors.Join(p.cp.Add("v", cptypes.Partitioned(&p.v, p.lo, p.hi, p.n)), p.cp.Add("sums", cptypes.Replicated(&p.sums)))
	if local {
		err = errors.Join(err, p.cp.Add("mine", &p.mine))
	}
	return err
}

func newProgram(t require.TestingT, c *comm.Comm, local bool, opts ...Option) *program {
	p := newValues(c, 1000)
	var err error
	p.cp, err = New("prog", c, append([]Option{WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	require.NoError(t, p.add(local))
	require.NoError(t, p.cp.Commit())
	return p
}

// step advances the computation by one iteration; the result does not depend
// on the number of ranks.
func (p *program) step() {
	for i := range p.v {
		if p.still && i >= 100 {
			break
		}
		p.v[i] = p.v[i]*1.0001 + float64(p.iter)
	}
	p.sums = append(p.sums, float64(p.iter)*0.5)
	p.mine += p.iter
}

func (p *program) run(ctx context.Context, until, freq int) error {
	if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
		return err
	}
	for ; p.iter < until; p.iter++ {
		if err := p.advance(ctx, freq); err != nil {
			return err
		}
	}
	return p.cp.Wait(ctx)
}

// advance does one iteration with its checkpoint, as the mode wants it.
func (p *program) advance(ctx context.Context, freq int) error {
	if p.cp.opt.mode() == AsyncZeroCopy {
		if err := p.cp.Wait(ctx); err != nil {
			return err
		}
	}
	p.step()
	return p.cp.UpdateAndWrite(ctx, p.iter, freq)
}

// modes are those of WithAsync.
var modes = []string{"off", "copy", "zero-copy"}

// withLevels is WithLevels of a list as CRAFT_LEVELS has it.
func withLevels(list string) Option { return func(o *options) { o.Levels = list } }

// inMode runs a checkpoint in a mode, with all values written from their own
// memory if that is zero-copy, and in small chunks.
func inMode(mode string) Option {
	return func(o *options) {
		WithAsync(AsyncMode(mode))(o)
		o.zeroCopyFrom, o.chunkSize = 1, 4<<10
	}
}

func reference(iters int) (v, sums []float64) {
	p := newValues(nil, 1000)
	for ; p.iter < iters; p.iter++ {
		p.step()
	}
	return p.v, p.sums
}

func TestRestartOnAnyNumberOfRanks(t *testing.T) {
	wantV, wantSums := reference(50)
	for _, sizes := range [][]int{{1, 1}, {4, 4}, {4, 3}, {3, 4}, {1, 5}, {5, 1}, {7, 2, 16, 1}} {
		dir := t.TempDir()
		for k, size := range sizes {
			until := 20 + 30*k/(len(sizes)-1)
			err := afttest.Run(t.Context(), size, func(ctx context.Context, c *comm.Comm) error {
				p := newProgram(t, c, false, WithPath(dir))
				defer p.cp.Close()
				if err := p.run(ctx, until, 5); err != nil {
					return err
				}
				if k > 0 {
					require.True(t, p.cp.Stats().Restored)
				}
				if until == 50 {
					require.Equal(t, wantV[p.lo:p.hi], p.v)
					require.Equal(t, wantSums, p.sums)
				}
				return nil
			})
			require.NoError(t, err, "sizes %v", sizes)
		}
	}
}
