package domain_test

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/md/cells"
	"github.com/craft-go/craft/examples/md/copper"
	"github.com/craft-go/craft/examples/md/domain"
	"github.com/craft-go/craft/examples/md/lj"
	"github.com/stretchr/testify/require"
)

const cutoff = 2.5 * copper.Sigma

var (
	crystal = copper.Lattice{NX: 6, NY: 5, NZ: 7} // 3 x 3 x 4 cells
	pair    = lj.New(copper.Sigma, copper.Epsilon, cutoff)
)

func newDomain(t *testing.T, c *comm.Comm) *domain.Domain {
	grid, err := cells.New(crystal.Box(), cutoff)
	require.NoError(t, err)
	return domain.New(c, domain.System{Grid: grid, Pair: pair, Mass: copper.Mass, Atoms: int(crystal.Atoms())})
}

// onRanks runs a body, which begins with the crystal at a temperature.
func onRanks(t *testing.T, ranks int, temperature float64, body func(ctx context.Context, d *domain.Domain) error) {
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		d := newDomain(t, c)
		if err := d.Start(ctx, crystal, 5, temperature); err != nil {
			return err
		}
		if err := d.Forces(ctx); err != nil {
			return err
		}
		return body(ctx, d)
	})
	require.NoError(t, err)
}

func run(ctx context.Context, d *domain.Domain, steps int, dt float64) error {
	for range steps {
		if err := d.Step(ctx, dt); err != nil {
			return err
		}
	}
	return nil
}

// alone is body on one rank, of a crystal that has moved for a while.
func alone(t *testing.T, body func(ctx context.Context, d *domain.Domain)) {
	onRanks(t, 1, 900, func(ctx context.Context, d *domain.Domain) error {
		if err := run(ctx, d, 40, 2); err != nil {
			return err
		}
		body(ctx, d)
		return nil
	})
}

// naive is the energy of all pairs, each at its nearest image, and the forces.
func naive(d *domain.Domain) (energy float64, forces []float64) {
	box := crystal.Box()
	forces = make([]float64, len(d.R))
	for i := range d.Len() {
		for j := range i {
			var delta [3]float64
			square := 0.0
			for axis := range delta {
				x := d.R[3*i+axis] - d.R[3*j+axis]
				x -= box[axis] * math.Round(x/box[axis])
				delta[axis] = x
				square += x * x
			}
			e, f := pair.Pair(square)
			energy += e
			for axis, x := range delta {
				forces[3*i+axis] += f * x
				forces[3*j+axis] -= f * x
			}
		}
	}
	return energy, forces
}

// TestForcesOfAllPairs: link cells find every pair once.
func TestForcesOfAllPairs(t *testing.T) {
	alone(t, func(ctx context.Context, d *domain.Domain) {
		energy, forces := naive(d)
		got, err := d.Totals(ctx)
		require.NoError(t, err)
		require.InEpsilon(t, energy, got.Potential, 1e-12)
		require.InDeltaSlice(t, forces, d.Force(), 1e-11)
	})
}

// TestPerfectCrystal: an atom has 12, 6, 24, 12 and 24 others within the cut-off, and at 600 K all
// have the energy that CoMD prints for its problem.
func TestPerfectCrystal(t *testing.T) {
	onRanks(t, 2, 600, func(ctx context.Context, d *domain.Domain) error {
		got, err := d.Totals(ctx)
		want := 0.0
		for i, n := range []float64{12, 6, 24, 12, 24, 8} {
			energy, _ := pair.Pair(float64(i+1) / 2 * copper.LatticeConstant * copper.LatticeConstant)
			want += n * energy / 2
		}
		require.InDelta(t, want, got.Potential/float64(d.Total), 1e-12)
		require.InDelta(t, -1.166063303477, got.Energy()/float64(d.Total), 1e-12)
		require.InDeltaSlice(t, make([]float64, len(d.R)), d.Force(), 1e-11)
		return err
	})
}

// TestForceIsTheGradient of the energy, by differences of the energy of the whole crystal.
func TestForceIsTheGradient(t *testing.T) {
	alone(t, func(ctx context.Context, d *domain.Domain) {
		const h = 1e-4
		potential := func() float64 {
			require.NoError(t, d.Forces(ctx))
			got, err := d.Totals(ctx)
			require.NoError(t, err)
			return got.Potential
		}
		forces := append([]float64(nil), d.Force()...)
		for i := 0; i < len(forces); i += 101 {
			x := d.R[i]
			d.R[i] = x + h
			above := potential()
			d.R[i] = x - h
			below := potential()
			d.R[i] = x
			require.InDelta(t, -(above-below)/(2*h), forces[i], 2e-5, "of a largest force of about 1 eV/Å")
		}
	})
}

// TestEnergyIsConserved: the total energy of a crystal at 600 K goes up and down by no more than
// 2e-5 of it with steps of 1 fs, while a tenth of it moves from one kind to the other; with steps
// half as long by a quarter of that, as it has to be with a method of second order.
func TestEnergyIsConserved(t *testing.T) {
	spread := func(dt float64, steps int) (total, kinetic float64) {
		onRanks(t, 2, 600, func(ctx context.Context, d *domain.Domain) error {
			first, err := d.Totals(ctx)
			if err != nil {
				return err
			}
			var worst, moved float64
			for range steps {
				if err := d.Step(ctx, dt); err != nil {
					return err
				}
				now, err := d.Totals(ctx)
				if err != nil {
					return err
				}
				worst = max(worst, math.Abs(now.Energy()/first.Energy()-1))
				moved = max(moved, math.Abs((now.Kinetic-first.Kinetic)/first.Kinetic))
			}
			if d.First == 0 {
				total, kinetic = worst, moved
			}
			return nil
		})
		return total, kinetic
	}
	whole, moved := spread(1, 100)
	half, _ := spread(0.5, 200)
	t.Logf("spread of the energy: %.2g with 1 fs, %.2g with 0.5 fs; of the kinetic energy: %.2g", whole, half, moved)
	require.Less(t, whole, 5e-5)
	require.Greater(t, moved, 0.1)
	require.Less(t, half, whole/2)
}

// TestMomentumIsConserved, and is zero from the beginning.
func TestMomentumIsConserved(t *testing.T) {
	onRanks(t, 3, 600, func(ctx context.Context, d *domain.Domain) error {
		begin, err := d.Totals(ctx)
		if err != nil {
			return err
		}
		require.InDelta(t, 600, copper.Temperature(begin.Kinetic, crystal.Atoms()), 1e-9)
		if err := run(ctx, d, 100, 2); err != nil {
			return err
		}
		end, err := d.Totals(ctx)
		typical := math.Sqrt(2 * copper.Mass * end.Kinetic / float64(crystal.Atoms())) // of one atom
		for axis := range 3 {
			require.InDelta(t, 0, begin.Momentum[axis]/typical, 1e-10)
			require.InDelta(t, 0, end.Momentum[axis]/typical, 1e-10)
		}
		return err
	})
}

// TestAnyNumberOfRanks: positions, velocities and energies are the same, bit for bit, also with
// more ranks than rows of cells, while atoms move from rank to rank.
func TestAnyNumberOfRanks(t *testing.T) {
	type outcome struct {
		digest string
		totals domain.Totals
	}
	outcomes := func(ranks int) (got outcome, moved bool) {
		var mu sync.Mutex
		onRanks(t, ranks, 20000, func(ctx context.Context, d *domain.Domain) error { // hot: it melts
			before := d.Last
			if err := run(ctx, d, 30, 2); err != nil {
				return err
			}
			digest, err := d.Digest(ctx)
			if err != nil {
				return err
			}
			totals, err := d.Totals(ctx)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, d.Len(), d.Last-d.First)
			if got.digest != "" {
				require.Equal(t, got, outcome{digest, totals}, "ranks differ")
			}
			got, moved = outcome{digest, totals}, moved || d.Last != before
			return err
		})
		return got, moved
	}
	want, _ := outcomes(1)
	for _, ranks := range []int{2, 3, 4, 7, 8, 12} {
		got, moved := outcomes(ranks)
		require.Equal(t, want, got, "%d ranks", ranks)
		require.True(t, moved)
	}
}

// TestAtomsFromAnywhere: it does not matter to which rank they were given, nor in which order.
func TestAtomsFromAnywhere(t *testing.T) {
	digest := func(ranks int, shuffle func(d *domain.Domain)) (got string) {
		onRanks(t, ranks, 600, func(ctx context.Context, d *domain.Domain) error {
			shuffle(d)
			if err := d.Arrange(ctx); err != nil {
				return err
			}
			digest, err := d.Digest(ctx)
			if d.First == 0 && d.Len() > 0 {
				got = digest
			}
			return err
		})
		return got
	}
	want := digest(1, func(*domain.Domain) {})
	require.Equal(t, want, digest(4, func(d *domain.Domain) { // the other way round
		all := d.Atoms
		d.Atoms = domain.Atoms{}
		for i := all.Len() - 1; i >= 0; i-- {
			d.Add(all.ID[i], all.R[3*i:], all.V[3*i:])
		}
	}))
}

func TestErrors(t *testing.T) {
	fails := func(spoil func(d *domain.Domain), dt float64) error { // as after a restart
		return afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			d := newDomain(t, c)
			if err := d.Start(ctx, crystal, 5, 600); err != nil {
				return err
			}
			spoil(d)
			if err := d.Arrange(ctx); err != nil {
				return err
			}
			if err := d.Forces(ctx); err != nil {
				return err
			}
			return d.Step(ctx, dt)
		})
	}
	require.ErrorContains(t, fails(func(*domain.Domain) {}, 1e7), "the time step is too long")
	require.ErrorContains(t, fails(func(d *domain.Domain) { d.V[0] = math.NaN() }, 1), "the time step is too long")
	require.ErrorContains(t, fails(func(d *domain.Domain) {
		if d.First > 0 {
			n := d.Len() - 1
			d.ID, d.R, d.V = d.ID[:n], d.R[:3*n], d.V[:3*n]
		}
	}, 1), "there are 839 atoms, and should be 840")
}

// TestContextEnds: what others have ended is not computed to its end.
func TestContextEnds(t *testing.T) {
	onRanks(t, 1, 600, func(ctx context.Context, d *domain.Domain) error {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(context.DeadlineExceeded)
		require.ErrorIs(t, d.Forces(ctx), context.DeadlineExceeded)
		return nil
	})
}

func BenchmarkStep(b *testing.B) {
	crystal := copper.Lattice{NX: 12, NY: 12, NZ: 12}
	grid, err := cells.New(crystal.Box(), cutoff)
	require.NoError(b, err)
	ctx := b.Context()
	d := domain.New(comm.Self(), domain.System{Grid: grid, Pair: pair, Mass: copper.Mass, Atoms: int(crystal.Atoms())})
	require.NoError(b, d.Start(ctx, crystal, 5, 600))
	require.NoError(b, d.Forces(ctx))
	for b.Loop() {
		require.NoError(b, d.Step(ctx, 1))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(crystal.Atoms()), "ns/atom")
}
