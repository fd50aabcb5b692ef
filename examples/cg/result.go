package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/cg/stencil"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	stencil.Grid         // nx, ny, planes
	Residual     float64 `json:"residual"`      // norm of the residual, as the method has computed it, as a share of that of b
	TrueResidual float64 `json:"true_residual"` // norm of b - A x, as a share of that of b
	Error        float64 `json:"error"`         // largest difference from the solution

	jobs.Result

	directory string // of the checkpoints
}

// finish checks what has been computed, and makes the result. It is collective.
func (c config) finish(ctx context.Context, z *aft.Zone, rank *jobs.Rank, m *conjugate, g stencil.Grid, iterations int) error {
	r := &result{Grid: g, Residual: m.residual(), directory: rank.CPPath}
	var err error
	if r.TrueResidual, r.Error, err = m.check(ctx, z.Comm()); err != nil {
		return err
	}
	digest, err := m.digest(ctx, z.Comm())
	if err != nil {
		return err
	}
	r.Result, err = rank.Result(ctx, iterations, digest)
	rank.Finish(r)
	return err
}

// digest is the SHA-256, in hexadecimal, of those of all planes from the lowest to the
// highest: each of X and then R, as little-endian float64. Of R because it tells other
// ways to the same X apart. It is collective, and the same on any number of ranks.
func (m *conjugate) digest(ctx context.Context, c *comm.Comm) (string, error) {
	var mine []byte
	var buffer []byte
	for plane := range m.op.Planes() {
		hash := sha256.New()
		for _, v := range [][]float64{m.op.Plane(m.X, plane), m.op.Plane(m.R, plane)} {
			buffer, _ = binary.Append(buffer[:0], binary.LittleEndian, v) // it takes numbers of any size
			hash.Write(buffer)
		}
		mine = hash.Sum(mine)
	}
	all, err := comm.AllgatherBytes(ctx, c, mine)
	sum := sha256.Sum256(bytes.Join(all, nil))
	return hex.EncodeToString(sum[:]), err
}

// Print writes the result for people.
func (r *result) Print(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d x %d x %d points\n", r.NX, r.NY, r.Planes)
	r.PrintRun(&b)
	fmt.Fprintf(&b, "\nresidual, as a share of the right-hand side   %.3e\nb - A x, as a share of the right-hand side     %.3e\nlargest difference from the solution          %.3e\n\n",
		r.Residual, r.TrueResidual, r.Error)
	r.PrintCheckpoints(&b, r.directory)
	_, err := w.Write(b.Bytes())
	return err
}
