package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/container"
)

// journal is a type of the program's own that keeps all that it ever read.
type journal struct{ lines []byte }

func (j *journal) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(j.lines)
	return int64(n), err
}

func (j *journal) ReadFrom(r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	j.lines = append(j.lines, b...)
	return int64(len(b)), err
}

type (
	younger struct {
		A, B int
		Next *younger
		M    map[string]int
		Big  []float64
	}
	elder struct{ A int }
)

// vars are the values of a program by key, all of them optional.
type vars map[string]any

// array is what all versions have, and line what cannot be read before all of it is
// known to be good: damage finds the bytes of either.
func (v vars) with(array *[]uint64, line *[]string) vars {
	all := vars{"array": array, "line": line}
	maps.Copy(all, v)
	return all
}

func (v vars) checkpoint(t require.TestingT, c *comm.Comm, dir string, opts ...Option) *Checkpoint {
	cp, err := New("test", c, append([]Option{WithPath(dir), WithCompression(CompressOff), WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		require.NoError(t, cp.Add(key, v[key], Optional(), Resizable()))
	}
	require.NoError(t, cp.Commit())
	return cp
}

func someArray() []uint64 {
	x := make([]uint64, 3000)
	for i := range x {
		x[i] = 0x5a5a5a5a_00000000 + uint64(i)
	}
	return x
}

const aLine = "the bytes of this line are changed"

// damage changes bytes of the array, or of the line, in a part of version 2.
func damage(t *testing.T, dir, where string, rank int) {
	t.Helper()
	mark := []byte(aLine)
	if where == "array" {
		mark = binary.LittleEndian.AppendUint64(nil, someArray()[2999])
	}
	parts := glob(t, filepath.Join(dir, "test", "v-000002-*", fmt.Sprintf("rank-%05d-*", rank)))
	require.Len(t, parts, 1)
	data, err := os.ReadFile(parts[0])
	require.NoError(t, err)
	at := bytes.LastIndex(data, mark)
	require.Positive(t, at)
	data[at] ^= 4
	require.NoError(t, os.WriteFile(parts[0], data, 0o600))
}

// mixture is what an older and a newer version hold, what a program that is
// restarted has, and what must be in that after the older one was taken.
type mixture struct {
	older, newer, now vars
	want              func(t require.TestingT)
}

func mixtures(t require.TestingT) map[string]mixture {
	x := func(v any) vars { return vars{"x": v} }
	text, fixed := "before", [2]int{1, 2}
	short, same, ragged := []int{1, 2}, []int{1, 2}, [][]int{{1}, {2, 3}}
	held := same
	var matrix [][]float64
	full := []int{1, 2, 3, 4}
	window := full
	fields := younger{A: 1, B: 2}
	m, next, big := map[string]int{"before": 1}, &younger{A: 1}, make([]float64, 10000)
	deep := younger{M: m, Next: next, Big: big}
	log := &journal{[]byte("before ")}
	turning := func(g [][]int) cptypes.Value { return cptypes.Columns(&g, cptypes.NextColumns(1)) }
	second, grid := turning([][]int{{7, 8, 9}}), [][]int{{1, 2, 3}}
	require.NoError(t, second.(cptypes.Updater).Update())
	return map[string]mixture{
		"string":       {nil, x(ptr("newer")), x(&text), func(t require.TestingT) { require.Equal(t, "before", text) }},
		"array":        {nil, x(&[2]int{8, 9}), x(&fixed), func(t require.TestingT) { require.Equal(t, [2]int{1, 2}, fixed) }},
		"longer slice": {nil, x(&[]int{7, 8, 9}), x(&short), func(t require.TestingT) { require.Equal(t, []int{1, 2}, short) }},
		"equal slice":  {nil, x(&[]int{8, 9}), x(&same), func(t require.TestingT) { require.Equal(t, []int{1, 2}, held) }},
		"ragged rows":  {nil, x(&[][]int{{4, 5, 6}, {7}}), x(&ragged), func(t require.TestingT) { require.Equal(t, [][]int{{1}, {2, 3}}, ragged) }},
		"matrix":       {nil, x(&[][]float64{{1, 2}}), x(&matrix), func(t require.TestingT) { require.Nil(t, matrix) }},
		"length": {x(&[]int{5}), x(&[]int{6, 7, 8}), x(&window), func(t require.TestingT) {
			require.Equal(t, []int{5}, window)
			require.Equal(t, []int{5, 2, 3, 4}, full)
		}},
		"field": {x(&elder{7}), x(&younger{A: 8, B: 9}), x(&fields), func(t require.TestingT) { require.Equal(t, younger{A: 7, B: 2}, fields) }},
		"behind fields": {
			x(&younger{A: 7}), x(&younger{A: 8, M: map[string]int{"newer": 2}, Next: &younger{A: 5}, Big: ones(10000)}), x(&deep),
			func(t require.TestingT) {
				require.Equal(t, younger{A: 7}, deep)
				require.Equal(t, map[string]int{"before": 1}, m)
				require.Equal(t, 1, next.A)
				require.Equal(t, make([]float64, 10000), big)
			},
		},
		"own type": {x(&journal{[]byte("older")}), x(&journal{[]byte("newer")}), x(log), func(t require.TestingT) {
			require.Equal(t, "before older", string(log.lines))
		}},
		"columns in turn": {
			x(turning([][]int{{4, 5, 6}})), x(second), x(cptypes.Columns(&grid, cptypes.NextColumns(1))),
			func(t require.TestingT) { require.Equal(t, [][]int{{4, 2, 3}}, grid) },
		},
	}
}

func ptr[T any](v T) *T { return &v }

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// writeBoth writes versions 1 and 2 of one lineage, with other values in each.
func writeBoth(ctx context.Context, t require.TestingT, c *comm.Comm, dir string, versions ...vars) error {
	var lineage container.LineageID
	for i, v := range versions {
		array, line := someArray(), []string{"some", aLine}
		cp := v.with(&array, &line).checkpoint(t, c, dir, WithReadOnRestart(false))
		if err := cp.RestartIfNeeded(ctx, nil); err != nil {
			return err
		}
		if i == 0 {
			lineage = cp.line.attempt.lineage
		}
		cp.line.attempt.lineage = lineage
		if err := errors.Join(cp.UpdateAndWrite(ctx, i, 1), cp.Close()); err != nil {
			return err
		}
	}
	return nil
}

// What the older version does not write is as it was before the call, on all ranks,
// also on those that have found nothing wrong with their parts of the newer one.
func TestFallBackDoesNotMixVersions(t *testing.T) {
	for _, where := range []string{"array", "line"} {
		for name := range mixtures(t) {
			t.Run(where+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
					m := mixtures(t)[name]
					return writeBoth(ctx, t, c, dir, m.older, m.newer)
				}))
				damage(t, dir, where, 1)
				require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
					m, array, line, iter := mixtures(t)[name], someArray(), []string(nil), 0
					cp := m.now.with(&array, &line).checkpoint(t, c, dir)
					defer cp.Close()
					err := cp.RestartIfNeeded(ctx, &iter)
					require.NoError(t, err)
					require.Equal(t, 1, iter)
					require.Equal(t, someArray(), array)
					require.Equal(t, []string{"some", aLine}, line)
					m.want(t)
					return nil
				}))
			})
		}
	}
}

// The same for a partitioned value, on other numbers of ranks.
func TestFallBackToAnOlderVersionOfOtherRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			dir := t.TempDir()
			values := func(c *comm.Comm, array *[]uint64, x *[]int) vars {
				lo, hi := 3000*int(c.Rank())/c.Size(), 3000*(int(c.Rank())+1)/c.Size()
				if *array == nil {
					*array = someArray()[lo:hi]
				}
				v := vars{"a": cptypes.Partitioned(array, lo, hi, 3000)}
				if x != nil {
					v["x"] = cptypes.Partitioned(x, lo, hi, 3000)
				}
				return v
			}
			require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
				var array []uint64
				x := make([]int, 1500)
				for i, v := range []vars{values(c, &array, nil), values(c, &array, &x)} {
					cp := v.checkpoint(t, c, dir)
					if err := errors.Join(cp.RestartIfNeeded(ctx, nil), cp.UpdateAndWrite(ctx, i, 1), cp.Close()); err != nil {
						return err
					}
				}
				return nil
			}))
			damage(t, dir, "array", 1)
			require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
				var array []uint64
				x := []int{}
				v := values(c, &array, &x)
				for range len(array) {
					x = append(x, 7)
				}
				want := append([]int{}, x...)
				clear(array)
				iter := 0
				cp := v.checkpoint(t, c, dir)
				defer cp.Close()
				require.NoError(t, cp.RestartIfNeeded(ctx, &iter))
				require.Equal(t, 1, iter)
				require.Equal(t, want, x)
				lo := 3000 * int(c.Rank()) / c.Size()
				require.Equal(t, someArray()[lo:lo+len(array)], array)
				return nil
			}))
		})
	}
}

// What all versions write over is not read twice.
func TestOnlyLateValuesAreReadTwice(t *testing.T) {
	dir, read := t.TempDir(), int64(0)
	big := vars{"big": ptr(ones(100_000))}
	require.NoError(t, writeBoth(t.Context(), t, nil, dir, big, big))
	disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && strings.Contains(op.Path, "v-000002") {
			read += op.Size
		}
		return nil
	})
	var array []uint64
	var line []string
	cp := big.with(&array, &line).checkpoint(t, nil, dir, withFS(disk))
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	require.Equal(t, someArray(), array)
	require.Less(t, read, int64(1_000_000))
}

// After an error either nothing has changed or the error names what did.
func TestErrorNamesWhatIsUndefined(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writeBoth(t.Context(), t, nil, dir, vars{"x": ptr(1)}, vars{"x": ptr(2)}))
	restart := func(x any) ([]uint64, error) {
		array, line := []uint64{1}, []string(nil)
		cp := vars{"x": x}.with(&array, &line).checkpoint(t, nil, dir)
		defer cp.Close()
		return array, cp.RestartIfNeeded(t.Context(), nil)
	}
	var undefined *UndefinedError
	damage(t, dir, "line", 0)
	x := 7
	_, err := restart(&x)
	require.NoError(t, err)
	require.Equal(t, 1, x)

	v1 := glob(t, filepath.Join(dir, "test", "v-000001-*", "*"))[0]
	data, err := os.ReadFile(v1)
	require.NoError(t, err)
	data[bytes.Index(data, []byte(aLine))] ^= 1
	require.NoError(t, os.WriteFile(v1, data, 0o600))
	_, err = restart(&x)
	require.ErrorIs(t, err, ErrNoUsableVersion)
	require.ErrorAs(t, err, &undefined)
	require.Contains(t, undefined.Keys, "array")
	require.ErrorContains(t, err, `undefined on this rank`)

	// What does not fit is found before anything is changed.
	array, err := restart(ptr(1.5))
	require.ErrorIs(t, err, ErrKey)
	require.False(t, errors.As(err, &undefined))
	require.Len(t, array, 1)
}
