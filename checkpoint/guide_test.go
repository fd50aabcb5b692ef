package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

// The listings of docs/checkpointing.md are taken from this file, word for word:
// see TestGuideListings.

// diffuse is a step of some computation.
func diffuse(field []float64) {
	for i := 1; i < len(field)-1; i++ {
		field[i] += 0.1 * (field[i-1] - 2*field[i] + field[i+1])
	}
}

// 1. The first program.

func simulate(ctx context.Context, dir string, steps int) (float64, error) {
	field := make([]float64, 1000)
	field[500] = 100
	energy := 0.0

	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	cp.Add("field", &field)
	cp.Add("energy", &energy)
	if err := cp.Commit(); err != nil { // also returns the first error of Add
		return 0, err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return 0, err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		energy += field[501]
		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
			return 0, err
		}
	}
	return energy, nil
}

func TestGuideFirstProgram(t *testing.T) {
	dir := t.TempDir()
	want, err := simulate(t.Context(), t.TempDir(), 100)
	require.NoError(t, err)
	_, err = simulate(t.Context(), dir, 35) // as if it had been killed then
	require.NoError(t, err)
	got, err := simulate(t.Context(), dir, 100)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// 2. What can be added.

func addThings(cp *checkpoint.Checkpoint) error {
	var (
		temperature float64
		converged   bool
		title       string
		started     time.Time
		history     []float64   // may grow and shrink from version to version
		grid        [][]float64 // rows of one length
		pairs       [8][2]int32 // arrays
		names       []string    //
		particles   []particle  // structs, and whatever is in them
		counts      map[string]int
		matrix      = mat.NewDense(3, 3, nil)
		generator   = rand.NewPCG(1, 2)
	)
	cp.Add("temperature", &temperature)
	cp.Add("converged", &converged)
	cp.Add("title", &title)
	cp.Add("started", &started)
	cp.Add("history", &history)
	cp.Add("grid", &grid)
	cp.Add("pairs", &pairs)
	cp.Add("names", &names)
	cp.Add("particles", &particles)
	cp.Add("counts", &counts)
	cp.Add("matrix", matrix)       // gonum's are pointers already
	cp.Add("generator", generator) // the source, not the *rand.Rand around it
	return cp.Commit()
}

func addParts(cp *checkpoint.Checkpoint) error {
	grid := make([][]float64, 100)
	for i := range grid {
		grid[i] = make([]float64, 50)
	}
	flat := make([]float64, 100*64) // 100 rows of 50, 64 apart

	cp.Add("boundary", cptypes.Columns(&grid, cptypes.Column(0)))
	cp.Add("left", cptypes.Columns(&grid, cptypes.ColumnRange(1, 10)))
	cp.Add("inner", cptypes.MatrixLD(&flat, 100, 50, 64, cptypes.RowMajor))
	cp.Add("diagonal", cptypes.Vector(&flat, 0, 50, 1, 65)) // 50 blocks of 1, 65 apart
	return cp.Commit()
}

func TestGuideThingsToAdd(t *testing.T) {
	for _, add := range []func(*checkpoint.Checkpoint) error{addThings, addParts} {
		dir := t.TempDir()
		for range 2 { // written, and read
			cp, err := checkpoint.New("things", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
			require.NoError(t, err)
			require.NoError(t, add(cp))
			require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
			require.NoError(t, cp.Write(t.Context()))
			require.NoError(t, cp.Close())
		}
	}
}

// 3. Several ranks.

func average(ctx context.Context, c comm.Comm, dir string, n, steps int) (float64, error) {
	lo, hi := int(c.Rank())*n/c.Size(), (int(c.Rank())+1)*n/c.Size()
	x := make([]float64, hi-lo) // this rank's part of a vector of n
	for i := range x {
		x[i] = float64(lo + i)
	}
	var means []float64 // the same on every rank

	cp, err := checkpoint.New("average", c, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	cp.Add("x", cptypes.Partitioned(&x, lo, hi, n))
	cp.Add("means", cptypes.Replicated(&means))
	if err := cp.Commit(); err != nil {
		return 0, err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return 0, err
	}
	for ; iter < steps; iter++ {
		sum := 0.0
		for i := range x {
			x[i] = x[i]/2 + 1
			sum += x[i]
		}
		if sum, err = comm.AllreduceOne(ctx, c, sum, comm.Sum); err != nil {
			return 0, err
		}
		means = append(means, sum/float64(n))
		if err := cp.UpdateAndWrite(ctx, iter, 5); err != nil {
			return 0, err
		}
	}
	return means[len(means)-1], nil
}

func TestGuideRanks(t *testing.T) {
	dir := t.TempDir()
	run := func(ranks, steps int, dir string) (mean float64) {
		err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
			m, err := average(ctx, c, dir, 1000, steps)
			if c.Rank() == 0 {
				mean = m
			}
			return err
		})
		require.NoError(t, err)
		return mean
	}
	want := run(1, 30, t.TempDir())
	run(4, 12, dir)
	require.InDelta(t, want, run(3, 30, dir), 1e-12)
}

// 4. Types of your own.

type particle struct {
	ID       int64
	Position [3]float64
	Tag      string
	Charge   float64 `craft:"charge,was=Q"` // was called Q in older versions
	cache    []int   `craft:"-"`            // neither stored nor changed
}

// Lattice stores itself: 8 bytes of temperature, then one byte for each spin.
type Lattice struct {
	Temperature float64
	Spins       []int8
}

func (l *Lattice) WriteTo(w io.Writer) (int64, error) {
	var buf bytes.Buffer
	_ = binary.Write(&buf, binary.LittleEndian, l.Temperature) // a Buffer does not fail
	_ = binary.Write(&buf, binary.LittleEndian, l.Spins)
	return buf.WriteTo(w)
}

func (l *Lattice) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r) // r ends where WriteTo has ended
	if err != nil {
		return int64(len(data)), err
	}
	if len(data) < 8 {
		return int64(len(data)), errors.New("lattice: too short")
	}
	in := bytes.NewReader(data)
	l.Spins = make([]int8, len(data)-8)
	err = errors.Join(binary.Read(in, binary.LittleEndian, &l.Temperature), binary.Read(in, binary.LittleEndian, l.Spins))
	return int64(len(data)), err
}

// deviceArray is a type of somebody else's: memory of an accelerator.
type deviceArray struct{ onDevice []float32 }

func (d *deviceArray) fetch(into []float32) { copy(into, d.onDevice) }
func (d *deviceArray) load(from []float32)  { copy(d.onDevice, from) }

// storedDevice is a wrapper that fetches before it is stored.
type storedDevice struct {
	device *deviceArray
	host   []float32
}

func (s *storedDevice) Update() error {
	s.device.fetch(s.host)
	return nil
}

func (s *storedDevice) WriteTo(w io.Writer) (int64, error) {
	return int64(4 * len(s.host)), binary.Write(w, binary.LittleEndian, s.host)
}

func (s *storedDevice) ReadFrom(r io.Reader) (int64, error) {
	if err := binary.Read(r, binary.LittleEndian, s.host); err != nil {
		return 0, err
	}
	s.device.load(s.host)
	return int64(4 * len(s.host)), nil
}

// registerDevice makes Add take a *deviceArray as it is.
func registerDevice() error {
	return cptypes.Register(func(d *deviceArray) cptypes.Value {
		return &storedDevice{device: d, host: make([]float32, len(d.onDevice))}
	})
}

func addOwn(cp *checkpoint.Checkpoint, lattice *Lattice, device, other *deviceArray) error {
	cp.Add("lattice", lattice)                                                 // 1: the type itself
	cp.Add("device", &storedDevice{device: device, host: make([]float32, 64)}) // 2: a wrapper
	cp.Add("other", other)                                                     // 3: by its adapter
	return cp.Commit()
}

func TestGuideOwnTypes(t *testing.T) {
	require.NoError(t, registerDevice())
	dir := t.TempDir()
	newDevice := func(x float32) *deviceArray {
		d := &deviceArray{make([]float32, 64)}
		for i := range d.onDevice {
			d.onDevice[i] = x
		}
		return d
	}
	lattice, device, other := &Lattice{2.5, []int8{1, -1, 1}}, newDevice(1), newDevice(2)
	open := func() *checkpoint.Checkpoint {
		cp, err := checkpoint.New("own", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet), checkpoint.WithAsync("copy"))
		require.NoError(t, err)
		require.NoError(t, addOwn(cp, lattice, device, other))
		return cp
	}
	cp := open()
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	want := *lattice
	lattice, device, other = new(Lattice), newDevice(0), newDevice(0)
	cp = open()
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	require.Equal(t, want, *lattice)
	require.EqualValues(t, 1, device.onDevice[63])
	require.EqualValues(t, 2, other.onDevice[63])
	_ = particle{}.cache
}

func TestLattice(t *testing.T) {
	cptypestest.Run(t, cptypestest.Case[Lattice]{
		Fill: func(l *Lattice, rng *rand.Rand) {
			l.Temperature = rng.Float64()
			l.Spins = make([]int8, rng.IntN(100))
			for i := range l.Spins {
				l.Spins[i] = int8(rng.IntN(2)*2 - 1)
			}
		},
		ToEOF: true, // ReadFrom takes all there is
	})
}

// 5. Errors.

func writeOrGoOn(ctx context.Context, cp *checkpoint.Checkpoint, iter int) error {
	err := cp.UpdateAndWrite(ctx, iter, 10)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, comm.ErrProcFailed), errors.Is(err, comm.ErrRevoked):
		return err // the job is over, or has to be repaired
	}
	fmt.Fprintln(os.Stderr, "no checkpoint this time:", err) // a full disk, say
	return nil
}

type parameters struct {
	NX, NY int
	Seed   uint64
}

func openWithFingerprint(dir string, p parameters) (*checkpoint.Checkpoint, error) {
	return checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithFingerprint(p))
}

func TestGuideErrors(t *testing.T) {
	dir := t.TempDir()
	x := 0
	for _, p := range []parameters{{10, 10, 1}, {10, 20, 1}} {
		cp, err := openWithFingerprint(dir, p)
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		err = cp.RestartIfNeeded(t.Context(), nil)
		if p.NY == 20 {
			require.ErrorIs(t, err, checkpoint.ErrFingerprint)
			require.ErrorContains(t, err, "NY: stored 10, now 20")
		} else {
			require.NoError(t, err)
			require.NoError(t, writeOrGoOn(t.Context(), cp, 0))
			require.NoError(t, os.Rename(dir+"/heat", dir+"/gone"))
			require.NoError(t, os.WriteFile(dir+"/heat", nil, 0o600))
			require.NoError(t, writeOrGoOn(t.Context(), cp, 10)) // fails, and the program goes on
			require.NoError(t, os.Remove(dir+"/heat"))
			require.NoError(t, os.Rename(dir+"/gone", dir+"/heat"))
		}
		require.NoError(t, cp.Close())
	}
}

// 6. Signals.

func untilStopped(ctx context.Context, cp *checkpoint.Checkpoint, stop <-chan os.Signal, field []float64, iter, steps int) error {
	for ; iter < steps; iter++ {
		diffuse(field)
		select {
		case s := <-stop:
			if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil { // now, whatever the frequency
				return err
			}
			if err := cp.Wait(ctx); err != nil { // if it is asynchronous
				return err
			}
			return fmt.Errorf("stopped by %v; run it again to go on", s)
		default:
		}
		if err := cp.UpdateAndWrite(ctx, iter, 100); err != nil {
			return err
		}
	}
	return cp.Wait(ctx)
}

func TestGuideSignals(t *testing.T) {
	dir := t.TempDir()
	field := make([]float64, 10)
	open := func() *checkpoint.Checkpoint {
		cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("field", &field), cp.Commit()))
		return cp
	}
	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	cp := open()
	require.ErrorContains(t, untilStopped(t.Context(), cp, stop, field, 7, 100), "interrupt")
	require.NoError(t, cp.Close())
	cp, iter := open(), 0
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 8, iter)
	require.NoError(t, untilStopped(t.Context(), cp, stop, field, iter, 100))
	require.NoError(t, cp.Close())
}

// 7. Asynchronous.

func inBackground(ctx context.Context, dir string, steps int) error {
	field := make([]float64, 100_000)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithAsync("copy"))
	if err != nil {
		return err
	}
	defer cp.Close()
	cp.Add("field", &field)
	if err := cp.Commit(); err != nil {
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		err := cp.UpdateAndWrite(ctx, iter, 10)
		var earlier *checkpoint.AsyncError
		if errors.As(err, &earlier) {
			fmt.Fprintln(os.Stderr, "going on without version", earlier.Version)
		} else if err != nil {
			return err
		}
	}
	return cp.Wait(ctx) // nil: the last version is complete and durable
}

func withoutCopy(ctx context.Context, dir string, steps int) error {
	now, next := make([]float64, 100_000), make([]float64, 100_000)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithAsync("zero-copy"))
	if err != nil {
		return err
	}
	defer cp.Close()
	cp.Add("now", &now)
	if err := cp.Commit(); err != nil {
		return err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	for ; iter < steps; iter++ {
		for i := range next { // reads what may still be being written
			next[i] = now[i] + float64(iter)
		}
		if err := cp.Wait(ctx); err != nil { // before it changes
			return err
		}
		copy(now, next)
		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
			return err
		}
	}
	return cp.Wait(ctx)
}

func showProgress(cp *checkpoint.Checkpoint) string {
	p := cp.Progress()
	if !p.Writing {
		return "no write under way"
	}
	return fmt.Sprintf("version %d: %d of about %d bytes", p.Version, p.Bytes, p.Expected)
}

func TestGuideAsynchronous(t *testing.T) {
	for _, program := range []func(context.Context, string, int) error{inBackground, withoutCopy} {
		dir := t.TempDir()
		t.Setenv("CRAFT_ASYNC_CHECK", "1")
		require.NoError(t, program(t.Context(), dir, 25))
		require.NoError(t, program(t.Context(), dir, 50))
	}
	cp, err := checkpoint.New("x", nil)
	require.NoError(t, err)
	require.Equal(t, "no write under way", showProgress(cp))
}

// 8. Nested.

func sweep(ctx context.Context, dir string, points, steps int) ([]float64, error) {
	var results []float64          // of the outer loop
	field := make([]float64, 1000) // of the inner loop
	outer, err := checkpoint.New("sweep", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	inner, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir))
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	outer.Add("results", &results)
	inner.Add("field", &field)
	if err := errors.Join(outer.Commit(), inner.Commit(), outer.SubCP(inner)); err != nil {
		return nil, err
	}

	point := 0
	if err := outer.RestartIfNeeded(ctx, &point); err != nil {
		return nil, err
	}
	for ; point < points; point++ {
		clear(field) // the inner loop begins ...
		field[500] = float64(point)
		iter := 0
		if err := inner.RestartIfNeeded(ctx, &iter); err != nil { // ... or goes on
			return nil, err
		}
		for ; iter < steps; iter++ {
			diffuse(field)
			if err := inner.UpdateAndWrite(ctx, iter, 10); err != nil {
				return nil, err
			}
		}
		results = append(results, field[501])
		if err := outer.UpdateAndWrite(ctx, point, 1); err != nil { // once per stage, at its end
			return nil, err
		}
	}
	return results, nil
}

func TestGuideNested(t *testing.T) {
	dir := t.TempDir()
	want, err := sweep(t.Context(), t.TempDir(), 4, 50)
	require.NoError(t, err)
	for _, steps := range []int{25, 50} { // the first sweep stops in its first stage
		ctx, cancel := context.WithCancel(t.Context())
		if steps == 25 {
			_, err = sweep(ctx, dir, 2, 50)
		} else {
			var got []float64
			got, err = sweep(ctx, dir, 4, 50)
			require.Equal(t, want, got)
		}
		require.NoError(t, err)
		cancel()
	}
}

// 9. What it costs.

func cost(cp *checkpoint.Checkpoint, wall time.Duration, processors int) float64 {
	s := cp.Stats()
	return 100 * float64(s.CheckpointTime+s.WriterCPU/time.Duration(processors)) / float64(wall)
}

func TestGuideCost(t *testing.T) {
	cp, err := checkpoint.New("x", nil)
	require.NoError(t, err)
	require.Zero(t, cost(cp, time.Second, 2))
}
