package checkpoint

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
	"github.com/craft-go/craft/cptypes"
)

// program is a small computation with one value of each distribution.
type program struct {
	cp   *Checkpoint
	c    comm.Comm
	n    int
	lo   int
	hi   int
	v    []float64 // partitioned
	sums []float64 // replicated
	mine int       // local
	iter int
}

func newProgram(t require.TestingT, c comm.Comm, local bool, opts ...Option) *program {
	p := &program{c: c, n: 1000}
	rank, size := 0, 1
	if c != nil {
		rank, size = int(c.Rank()), c.Size()
	}
	p.lo, p.hi = rank*p.n/size, (rank+1)*p.n/size
	p.v = make([]float64, p.hi-p.lo)
	for i := range p.v {
		p.v[i] = float64(p.lo + i)
	}
	var err error
	p.cp, err = New("prog", c, append([]Option{WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	require.NoError(t, p.cp.Add("v", cptypes.Partitioned(&p.v, p.lo, p.hi, p.n)))
	require.NoError(t, p.cp.Add("sums", cptypes.Replicated(&p.sums)))
	if local {
		require.NoError(t, p.cp.Add("mine", &p.mine))
	}
	require.NoError(t, p.cp.Commit())
	return p
}

// step advances the computation by one iteration; the result does not depend
// on the number of ranks.
func (p *program) step() {
	for i := range p.v {
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
		p.step()
		if err := p.cp.UpdateAndWrite(ctx, p.iter, freq); err != nil {
			return err
		}
	}
	return nil
}

func reference(iters int) (v, sums []float64) {
	p := &program{n: 1000, v: make([]float64, 1000)}
	for i := range p.v {
		p.v[i] = float64(i)
	}
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
			err := embedded.Run(t.Context(), size, func(ctx context.Context, c comm.Comm) error {
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
