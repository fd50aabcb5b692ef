package krylov

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/craft-go/craft/aft/comm"
)

// Lanczos is the state of the process. Its exported fields are all that a
// restart needs: who restores them (all from the same step) goes on as if
// nothing had happened.
//
// The vectors are not divided by their norm, which saves a pass over memory in
// every step: v[k] is Current divided by beta[k-1], v[k-1] is Previous divided
// by beta[k-2]. The start vector has norm 1.
type Lanczos struct {
	Alpha, Beta       []float64 // one element per step, the same on all ranks
	Previous, Current []float64 // this rank's rows of the last two vectors

	op   *Operator
	hold hold
}

// NewLanczos prepares step 0 from the start vector of a seed. It is collective.
func NewLanczos(ctx context.Context, op *Operator, seed uint64) (*Lanczos, error) {
	n := int(op.hi - op.lo)
	l := &Lanczos{Previous: make([]float64, n), Current: make([]float64, n), op: op}
	v := l.Current
	local := op.team.Sum(n, func(lo, hi int) float64 {
		square := 0.0
		for i := lo; i < hi; i++ {
			v[i] = startElement(seed, op.lo+int64(i))
			square += v[i] * v[i]
		}
		return square
	})
	square, err := comm.AllreduceOne(ctx, op.comm, local, comm.Sum)
	if err != nil {
		return nil, err
	}
	scale := 1 / math.Sqrt(square)
	op.team.Do(n, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			v[i] *= scale
		}
	})
	return l, nil
}

// Step does step len(Alpha). It is collective. After an error the state is
// undefined. Step must not be called when the subspace is [Lanczos.Invariant].
func (l *Lanczos) Step(ctx context.Context) error {
	scale, back := l.scales()
	w, v := l.target(), l.Current
	part, err := l.op.apply(ctx, w, v, l.Previous, scale, back)
	if err != nil {
		return err
	}
	alpha, err := comm.AllreduceOne(ctx, l.op.comm, part, comm.Sum)
	if err != nil {
		return err
	}
	square, err := comm.AllreduceOne(ctx, l.op.comm, l.op.orthogonalise(w, v, alpha*scale), comm.Sum)
	if err != nil {
		return err
	}
	beta := math.Sqrt(square)
	if math.IsNaN(alpha+beta) || math.IsInf(alpha+beta, 0) {
		return fmt.Errorf("krylov: number out of range: alpha = %v, beta = %v in iteration %d", alpha, beta, len(l.Alpha))
	}
	l.Alpha, l.Beta = append(l.Alpha, alpha), append(l.Beta, beta)
	l.Previous, l.Current = v, w
	return nil
}

// scales are the factors of step k = len(Alpha): v[k] = scale*Current, and
// beta[k-1]*v[k-1] = back*Previous.
func (l *Lanczos) scales() (scale, back float64) {
	k := len(l.Beta)
	if k == 0 {
		return 1, 0
	}
	scale, back = 1/l.Beta[k-1], l.Beta[k-1]
	if k > 1 {
		back /= l.Beta[k-2]
	}
	return scale, back
}

// roundingShare is the norm, relative to that of the matrix, below which the
// next vector would be made of nothing but rounding errors.
const roundingShare = 64 * 0x1p-52

// Invariant reports whether the vectors so far span an invariant subspace. Then
// every eigenvalue that the start vector has a share in has been found, and the
// process ends.
func (l *Lanczos) Invariant() bool {
	k := len(l.Beta)
	return k > 0 && l.Beta[k-1] <= roundingShare*l.op.norm
}

// Digest is the SHA-256, in hexadecimal, of what the first steps have found: all
// of alpha, then all of beta, as little-endian float64.
func (l *Lanczos) Digest(steps int) string {
	hash := sha256.New()
	for _, list := range [][]float64{l.Alpha[:steps], l.Beta[:steps]} {
		_ = binary.Write(hash, binary.LittleEndian, list) // a hash takes everything
	}
	return hex.EncodeToString(hash.Sum(nil))
}
