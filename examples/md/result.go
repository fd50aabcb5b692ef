package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/md/copper"
	"github.com/craft-go/craft/examples/md/domain"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Atoms       int64     `json:"atoms"`
	Cells       [3]int    `json:"cells"`       // link cells in each direction
	Energies    []float64 `json:"energies"`    // eV, of all atoms: at the beginning and every 10 steps
	Potential   float64   `json:"potential"`   // eV, at the end
	Kinetic     float64   `json:"kinetic"`     // eV, at the end
	Temperature float64   `json:"temperature"` // K, at the end
	Drift       float64   `json:"drift"`       // largest difference of an energy from the first one, over that

	jobs.Result // Digest is the SHA-256 of all atoms and of the energies

	config *config // for people
}

// finish makes the result. It is collective.
func (c *config) finish(ctx context.Context, rank *jobs.Rank, atoms *domain.Domain, steps int, energies []float64) error {
	t, err := atoms.Totals(ctx)
	if err != nil {
		return err
	}
	state, err := atoms.Digest(ctx)
	if err != nil {
		return err
	}
	common, err := rank.Result(ctx, steps, digest(state, append(energies[:len(energies):len(energies)], t.Energy())))
	if err != nil {
		return err
	}
	r := &result{
		Atoms: c.crystal.Atoms(), Cells: c.grid.Cells,
		Energies: energies, Potential: t.Potential, Kinetic: t.Kinetic,
		Temperature: copper.Temperature(t.Kinetic, c.crystal.Atoms()),
		Result:      common, config: c,
	}
	for _, e := range append(energies[1:len(energies):len(energies)], t.Energy()) {
		r.Drift = max(r.Drift, math.Abs((e-energies[0])/energies[0]))
	}
	rank.Finish(r)
	return nil
}

// digest is the SHA-256, in hexadecimal, of the digest of the atoms and of energies as
// little-endian float64.
func digest(atoms string, energies []float64) string {
	hash := sha256.New()
	_, _ = io.WriteString(hash, atoms) // a hash takes everything
	_ = binary.Write(hash, binary.LittleEndian, energies)
	return hex.EncodeToString(hash.Sum(nil))
}

// Print writes the result for people.
func (r *result) Print(w io.Writer) error {
	var b bytes.Buffer
	l, n := r.config.crystal, r.Cells
	fmt.Fprintf(&b, "copper, %d x %d x %d unit cells: %s atoms in %d x %d x %d link cells\n", l.NX, l.NY, l.NZ, humanize.Comma(r.Atoms), n[0], n[1], n[2])
	r.PrintRun(&b)
	fmt.Fprintf(&b, "\nenergy          %16.6f eV, of which %.6f eV potential\n", r.Potential+r.Kinetic, r.Potential)
	fmt.Fprintf(&b, "largest drift   %16.1e of it\n", r.Drift)
	fmt.Fprintf(&b, "temperature     %16.6f K\n", r.Temperature)
	if r.VersionsWritten > 0 {
		fmt.Fprintln(&b)
		r.PrintCheckpoints(&b, r.config.CPPath)
	}
	_, err := w.Write(b.Bytes())
	return err
}
