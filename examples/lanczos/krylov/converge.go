package krylov

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
)

// firstCheck is the number of steps before which convergence is not tested.
const firstCheck = 20

// lastCheck returns the last number of steps, up to k, after which convergence
// is tested, or 0. The distances grow with k, so that the tests, whose work
// grows with the square, stay a small share. The numbers depend on nothing but
// k, so that a restarted run tests where an undisturbed one does.
func lastCheck(k int) int {
	last := 0
	for next := firstCheck; next <= k; next += 10 + next/8 {
		last = next
	}
	return last
}

// Spectrum are the distinct eigenvalues that the first steps of the process
// have found, in ascending order.
func (l *Lanczos) Spectrum(steps int) ([]tridiag.Ritz, error) {
	if steps == 0 {
		return nil, nil
	}
	pairs, err := tridiag.Eigen(l.Alpha[:steps], l.Beta[:steps-1])
	if err != nil {
		return nil, err
	}
	return tridiag.Distinct(pairs, l.Beta[steps-1], l.op.rows), nil
}

// Done reports, on all ranks alike, whether there is nothing left to do: the
// subspace is invariant, or the count lowest distinct eigenvalues have
// residuals of at most tolerance relative to the largest one. To be sure that no
// eigenvalue is still on its way to a place among them, the same must hold, with
// the same values, after the steps of the test before. A tolerance of 0 never
// ends the process. Done is collective, and a function of Alpha and Beta.
func (l *Lanczos) Done(ctx context.Context, count int, tolerance float64) (bool, error) {
	k := len(l.Alpha)
	switch {
	case l.Invariant():
		return true, nil
	case tolerance <= 0 || k == 0 || lastCheck(k) != k:
		return false, nil
	}
	verdict := []bool{false}
	if l.op.comm.Rank() == 0 {
		var err error
		if verdict[0], err = l.converged(k, count, tolerance); err != nil {
			return false, err
		}
	}
	err := comm.Bcast(ctx, l.op.comm, 0, verdict)
	return verdict[0], err
}

func (l *Lanczos) converged(k, count int, tolerance float64) (bool, error) {
	now, err := l.Spectrum(k)
	if err != nil || !tridiag.Converged(now, count, tolerance) {
		return false, err
	}
	before, err := l.Spectrum(lastCheck(k - 1))
	if err != nil || len(before) < count {
		return false, err
	}
	width := 2 * max(tolerance, tridiag.Same) * l.op.norm
	for i, r := range now[:count] {
		if d := r.Value - before[i].Value; d > width || d < -width {
			return false, nil
		}
	}
	return tridiag.Converged(before, count, tolerance), nil
}
