package cptypes_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

// particles are what a program would describe by a struct type of MPI.
type particles struct {
	bytes []byte
	pos   []float64
	id    []int32
	wave  []complex128
	flags [3]bool
	n     int
}

func newParticles() *particles {
	return &particles{bytes: make([]byte, 12)[1:], pos: make([]float64, 20), id: make([]int32, 11)[1:], wave: make([]complex128, 4)}
}

func (p *particles) value() cptypes.Value {
	return cptypes.Blocks(
		cptypes.Contiguous(&p.bytes, 0, 11),
		cptypes.Vector(&p.pos, 0, 20, 1, 1),
		cptypes.Blocks(cptypes.Indexed(&p.id, []int{7, 3}, []int{3, 0}), &p.flags),
		cptypes.Matrix(&p.wave, 2, 2),
		&p.n,
	)
}

func (p *particles) fields() []reflect.Value {
	return []reflect.Value{
		reflect.ValueOf(&p.bytes).Elem(), reflect.ValueOf(&p.pos).Elem(), reflect.ValueOf(&p.id).Elem(),
		reflect.ValueOf(&p.wave).Elem(), reflect.ValueOf(&p.flags).Elem(), reflect.ValueOf(&p.n).Elem(),
	}
}

func TestBlocks(t *testing.T) {
	c := cptypestest.Case[particles]{
		New: newParticles,
		Fill: func(p *particles, rng *rand.Rand) {
			for _, f := range p.fields() {
				if f.Kind() != reflect.Slice {
					randomise(f, rng)
					continue
				}
				for i := range f.Len() {
					randomise(f.Index(i), rng)
				}
			}
		},
		Equal: func(a, b *particles) bool {
			for i, f := range a.fields() {
				if !same(f, b.fields()[i]) {
					return false
				}
			}
			return true
		},
		Value: func(p *particles) any { return p.value() },
	}
	cptypestest.Run(t, c)
	t.Run("converted", func(t *testing.T) {
		cptypes.ConvertAlways(t)
		cptypestest.Run(t, c)
	})
	t.Run("replicated", func(t *testing.T) {
		c.Value = func(p *particles) any { return cptypes.Replicated(p.value()) }
		cptypestest.Run(t, c)
	})
}

func TestBlocksBytes(t *testing.T) {
	x, n := []int16{1, 2, 3, 4, -5}, uint8(7)
	v := of(t, cptypes.Blocks(cptypes.Vector(&x, 0, 3, 1, 2), &n))
	require.Equal(t, cptypes.Desc{Elem: container.Opaque, Type: "blocks(int16,uint8)"}, cptypes.DescOf(v))
	var buf bytes.Buffer
	_, err := v.WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, []byte{
		2, 0, 0, 0, 0, 0, 0, 0, // parts
		3, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 3, 0, 0xfb, 0xff,
		7,
	}, buf.Bytes())

	empty := of(t, cptypes.Blocks())
	buf.Reset()
	_, err = empty.WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 8), buf.Bytes())

	// Nil slices are made.
	var y []int16
	require.NoError(t, transfer(t, v, of(t, cptypes.Blocks(cptypes.Contiguous(&y, 1, 3), new(uint8)))))
	require.Equal(t, []int16{0, 1, 3, -5}, y)
}

func TestBlocksErrors(t *testing.T) {
	x := []int{1, 2, 3}
	for text, part := range map[string]any{
		"part 1 of Blocks: cptypes: nil value":                       nil,
		"part 1 of Blocks, int64[3]: allowed are":                    &x,
		"part 1 of Blocks, string[2]":                                ptr("ab"),
		"part 1 of Blocks, int64[3] partitioned":                     cptypes.Partitioned(&x, 0, 3, 3),
		"part 1 of Blocks, int64[2] replicated":                      cptypes.Replicated(cptypes.Contiguous(&x, 0, 2)),
		"part 1 of Blocks, opaque columns in turn":                   cptypes.MatrixColumns(&x, 1, 3, 3, cptypes.RowMajor, cptypes.NextColumns(1)),
		"part 1 of Blocks: cptypes: invalid box: Contiguous(-1, 2):": cptypes.Contiguous(&x, -1, 2),
	} {
		_, err := cptypes.Of(cptypes.Blocks(new(int), part))
		require.ErrorContains(t, err, text)
	}
	_, err := cptypes.Of(cptypes.Blocks(make([]any, 0, 1)...))
	require.NoError(t, err)
	many := make([]any, 4097)
	for i := range many {
		many[i] = new(uint8)
	}
	_, err = cptypes.Of(cptypes.Blocks(many...))
	require.ErrorContains(t, err, "4097 parts, allowed are up to 4096")
	require.LessOrEqual(t, len(cptypes.DescOf(of(t, cptypes.Blocks(many[:4096]...))).Type), 65535)

	short := []int{1}
	v := of(t, cptypes.Blocks(cptypes.Contiguous(&short, 0, 2)))
	require.ErrorIs(t, v.(cptypes.Updater).Update(), cptypes.ErrLength)
	_, err = v.WriteTo(&bytes.Buffer{})
	require.ErrorContains(t, err, "part 0 of Blocks")

	v = of(t, cptypes.Blocks(cptypes.Contiguous(&x, 0, 2), cptypes.Contiguous(&x, 2, 1)))
	for text, to := range map[string]cptypes.Value{
		"part 1 of Blocks must have 1 elements": cptypes.Blocks(cptypes.Contiguous(&x, 0, 2), cptypes.Contiguous(&x, 0, 2)),
		"the type must be blocks(int64,int64)":  cptypes.Blocks(cptypes.Contiguous(&x, 0, 2)),
		"part 0: cptypes: stored is":            cptypes.Blocks(cptypes.Contiguous(&short, 0, 2), cptypes.Contiguous(&x, 0, 1)),
	} {
		err := transfer(t, v, to)
		require.ErrorIs(t, err, cptypes.ErrMismatch, text)
		require.ErrorContains(t, err, text)
	}
}

// A wrong number of parts, or of elements of one, is told as such, however few bytes follow.
func TestBlocksWithWrongNumbers(t *testing.T) {
	x, y := []int32{1, 2, 3}, uint8(4)
	v := of(t, cptypes.Blocks(cptypes.Contiguous(&x, 0, 3), &y))
	var stored bytes.Buffer
	_, err := v.WriteTo(&stored)
	require.NoError(t, err)
	for at, want := range map[int]error{0: cptypes.ErrCorrupt, 8: cptypes.ErrMismatch, 16: cptypes.ErrMismatch} {
		for _, n := range []uint64{0, 4, 5, 1 << 20, 1<<56 - 1, 1 << 56, 1 << 63, math.MaxUint64} {
			bad := bytes.Clone(stored.Bytes())
			binary.LittleEndian.PutUint64(bad[at:], n)
			_, err := v.ReadFrom(bytes.NewReader(bad))
			require.ErrorIs(t, err, want, "%d at %d", n, at)
		}
	}
}
