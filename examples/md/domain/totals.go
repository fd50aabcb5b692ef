package domain

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// Totals are sums over all atoms.
type Totals struct {
	Potential, Kinetic float64 // eV
	Momentum           [3]float64
}

// Energy of all atoms, in eV.
func (t Totals) Energy() float64 { return t.Potential + t.Kinetic }

// Totals adds up what the rows have, in their order: the same bits on all ranks, whoever has
// which rows. The potential energy is that of the last Forces.
func (d *Domain) Totals(ctx context.Context) (t Totals, err error) {
	const each = 5
	mine := make([]float64, 0, each*d.rows)
	for row := range d.rows {
		kinetic, p := d.motion(row)
		mine = append(mine, d.energy[row], kinetic, p[0], p[1], p[2])
	}
	all, err := comm.Allgatherv(ctx, d.comm, mine)
	if err != nil {
		return t, err
	}
	for row := range slices.Chunk(slices.Concat(all...), each) {
		t.Potential += row[0]
		t.Kinetic += row[1]
		for axis := range t.Momentum {
			t.Momentum[axis] += row[2+axis]
		}
	}
	return t, nil
}

// motion is the kinetic energy and the momentum of a row, added up cell by cell.
func (d *Domain) motion(row int) (kinetic float64, momentum [3]float64) {
	for layer := range d.grid.Layers() {
		cell, square, sum := d.cell(row, layer), 0.0, [3]float64{}
		for i := d.begin[cell]; i < d.begin[cell+1]; i++ {
			for axis, v := range d.V[3*i : 3*i+3] {
				square += v * v
				sum[axis] += v
			}
		}
		kinetic += d.mass / 2 * square
		for axis := range momentum {
			momentum[axis] += d.mass * sum[axis]
		}
	}
	return kinetic, momentum
}

// Digest is the SHA-256, in hexadecimal, of those of all rows in their order. That of a row is of
// its atoms: the number, position and velocity of each, in little-endian order.
func (d *Domain) Digest(ctx context.Context) (string, error) {
	var mine, atom []byte
	for row := range d.rows {
		hash := sha256.New()
		for i := d.begin[d.cell(row, 0)]; i < d.begin[d.cell(row, d.grid.Layers())]; i++ {
			atom = binary.LittleEndian.AppendUint64(atom[:0], uint64(d.ID[i]))
			for _, part := range [][]float64{d.R[3*i : 3*i+3], d.V[3*i : 3*i+3]} {
				atom, _ = binary.Append(atom, binary.LittleEndian, part) // numbers are no error
			}
			hash.Write(atom)
		}
		mine = hash.Sum(mine)
	}
	all, err := comm.Allgatherv(ctx, d.comm, mine)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat(all...))
	return hex.EncodeToString(sum[:]), nil
}
