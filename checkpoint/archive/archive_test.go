package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/manifest"
)

const (
	ranks     = 4
	arraySize = 1000
	rows      = 30
	cols      = 7
)

type particle struct {
	ID int
	X  [3]float64
}

// job is one of four ranks, on a node each, that has written versions.
type job struct{ base, nodes string }

func newJob(t *testing.T) job {
	root := t.TempDir()
	return job{filepath.Join(root, "cp"), filepath.Join(root, "nodes")}
}

func (j job) dir() string            { return filepath.Join(j.base, "c") }
func (j job) node(i int) string      { return filepath.Join(j.nodes, fmt.Sprintf("node-%d", i)) }
func element(version, i int) float64 { return float64(version)*1e6 + float64(i) }

// run writes versions of iterations 0, 10, ...; then is called by rank 0 before the end.
func (j job) run(t *testing.T, levels string, versions int, then func(cp *checkpoint.Checkpoint)) {
	t.Helper()
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		r := int(c.Rank())
		opts := []checkpoint.Option{checkpoint.WithPath(j.base), checkpoint.WithKeep(10), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(slog.New(slog.DiscardHandler)), checkpoint.WithFingerprint("problem 7")}
		if levels != "" {
			policy, err := storage.ParsePolicy(levels)
			if err != nil {
				return err
			}
			opts = append(opts, checkpoint.WithLevels(policy...), checkpoint.WithNodePath(j.node(r)))
		}
		cp, err := checkpoint.New("c", c, opts...)
		if err != nil {
			return err
		}
		lo, hi := r*arraySize/ranks, (r+1)*arraySize/ranks
		v := make([]float64, hi-lo)
		rowLo, rowHi := r*rows/ranks, (r+1)*rows/ranks
		m := make([]int32, (rowHi-rowLo)*cols)
		shared := make([]float64, 20_000) // spread over the parts
		mine, title, own := int64(0), "", []particle{}
		err = errors.Join(cp.Add("v", cptypes.Partitioned(&v, lo, hi, arraySize)), cp.Add("m", cptypes.PartitionedMatrix(&m, rowLo, rowHi, rows, cols)),
			cp.Add("shared", cptypes.Replicated(&shared)), cp.Add("mine", &mine), cp.Add("title", &title), cp.Add("own", &own), cp.Commit())
		if err == nil {
			err = cp.RestartIfNeeded(ctx, nil)
		}
		for i := 0; err == nil && i < versions; i++ {
			for k := range v {
				v[k] = element(i+1, lo+k)
			}
			for k := range m {
				m[k] = int32(rowLo*cols + k)
			}
			for k := range shared {
				shared[k] = float64(i+1) / float64(k+1)
			}
			mine, title, own = int64(100*(i+1)+r), fmt.Sprint("of rank ", r), []particle{{r, [3]float64{1, 2, float64(i + 1)}}}
			err = cp.UpdateAndWrite(ctx, 10*i, 10)
		}
		if err == nil && then != nil {
			if c.Rank() == 0 {
				then(cp)
			}
			err = comm.Barrier(ctx, c)
		}
		if err == nil && strings.Contains(levels, "pfs") {
			err = cp.Flush(ctx)
		}
		return errors.Join(err, cp.Close())
	})
	require.NoError(t, err)
}

func (j job) open(t *testing.T) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), j.dir())
	require.NoError(t, err)
	require.NoError(t, a.Problems())
	return a
}

// requireAll reads all that a version holds.
func requireAll(t *testing.T, s *archive.Snapshot, version int) {
	t.Helper()
	v, shape, err := archive.Array[float64](t.Context(), s, "v")
	require.NoError(t, err)
	require.Equal(t, []int64{arraySize}, shape)
	for i, x := range v {
		require.Equal(t, element(version, i), x)
	}
	m, shape, err := archive.Array[int32](t.Context(), s, "m")
	require.NoError(t, err)
	require.Equal(t, []int64{rows, cols}, shape)
	for i, x := range m {
		require.EqualValues(t, i, x)
	}
	shared, _, err := archive.Array[float64](t.Context(), s, "shared")
	require.NoError(t, err)
	require.Len(t, shared, 20_000)
	require.Equal(t, float64(version)/20_000, shared[19_999])
	for r := range ranks {
		var mine int64
		var title string
		var own []particle
		require.NoError(t, errors.Join(s.Read(t.Context(), "mine", r, &mine), s.Read(t.Context(), "title", r, &title), s.Read(t.Context(), "own", r, &own)))
		require.Equal(t, int64(100*version+r), mine)
		require.Equal(t, fmt.Sprint("of rank ", r), title)
		require.Equal(t, []particle{{r, [3]float64{1, 2, float64(version)}}}, own)
	}
}

func TestReadAll(t *testing.T) {
	j := newJob(t)
	j.run(t, "", 3, nil)
	a := j.open(t)
	require.Equal(t, "c", a.Name())
	versions, err := a.Versions(t.Context())
	require.NoError(t, err)
	require.Len(t, versions, 3)
	for i, v := range versions {
		require.Equal(t, archive.Complete, v.State)
		require.Empty(t, v.Why)
		require.EqualValues(t, 10*i, v.Iteration)
		require.Equal(t, ranks, v.Ranks)
		require.True(t, v.Continued)
		require.Equal(t, []archive.Place{{Dir: filepath.Join(j.dir(), v.ID.String()), Parts: []int{0, 1, 2, 3}}}, v.Places)
		s, err := a.Snapshot(t.Context(), v.ID)
		require.NoError(t, err)
		requireAll(t, s, i+1)
	}
	s, err := a.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, versions[2], s.Version())
	require.Equal(t, `"problem 7"`, string(s.Fingerprint()))
	var names []string
	keys, err := s.Keys(t.Context())
	require.NoError(t, err)
	for _, k := range keys {
		names = append(names, k.Name)
	}
	require.ElementsMatch(t, []string{"v", "m", "shared", "mine", "title", "own"}, names)

	// A box over the borders of ranks, and a rank's own one.
	box, err := archive.Box[float64](t.Context(), s, "v", cptypes.Box{Lo: []int64{240}, Hi: []int64{260}})
	require.NoError(t, err)
	require.Len(t, box, 20)
	require.Equal(t, element(3, 240), box[0])
	block, err := archive.Box[int32](t.Context(), s, "m", cptypes.Box{Lo: []int64{6, 5}, Hi: []int64{9, 7}})
	require.NoError(t, err)
	require.Equal(t, []int32{6*cols + 5, 6*cols + 6, 7*cols + 5, 7*cols + 6, 8*cols + 5, 8*cols + 6}, block)
	var own []float64
	require.NoError(t, s.Read(t.Context(), "v", 1, &own))
	require.Equal(t, element(3, arraySize/ranks), own[0])
	var flat []int32
	require.NoError(t, s.Read(t.Context(), "m", 0, &flat), "a matrix into a slice")
	require.Len(t, flat, 7*cols)
	var b bytes.Buffer
	require.NoError(t, s.Stream(t.Context(), "v", 3, &b))
	require.Equal(t, 8*arraySize/ranks, b.Len())
	var first float64
	_, err = binary.Decode(b.Bytes(), binary.LittleEndian, &first)
	require.NoError(t, err)
	require.Equal(t, element(3, 3*arraySize/ranks), first)
}

func TestMistakes(t *testing.T) {
	j := newJob(t)
	j.run(t, "", 1, nil)
	_, err := archive.Open(t.Context(), filepath.Join(j.base, "nothing\x00"))
	require.Error(t, err)
	_, err = archive.Open(t.Context(), filepath.Join(j.base, "slover"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "slover")
	s, err := j.open(t).Latest(t.Context())
	require.NoError(t, err)
	var x float64
	var text string
	require.ErrorIs(t, s.Read(t.Context(), "w", 0, &x), archive.ErrKey)
	require.ErrorContains(t, s.Read(t.Context(), "mine", 4, &x), "there is no rank 4, it was written by ranks 0 to 3")
	require.ErrorIs(t, s.Read(t.Context(), "title", 0, &x), cptypes.ErrMismatch)
	require.ErrorIs(t, s.Read(t.Context(), "v", 0, &text), cptypes.ErrMismatch)
	require.ErrorIs(t, s.Read(t.Context(), "v", 0, nil), cptypes.ErrNil)
	_, _, err = archive.Array[int32](t.Context(), s, "v")
	require.ErrorIs(t, err, cptypes.ErrMismatch)
	_, _, err = archive.Array[float64](t.Context(), s, "w")
	require.ErrorIs(t, err, archive.ErrKey)
	for _, box := range []cptypes.Box{{}, {Lo: []int64{0}, Hi: []int64{arraySize + 1}}, {Lo: []int64{5}, Hi: []int64{4}}, {Lo: []int64{0, 0}, Hi: []int64{1, 1}}} {
		_, err = archive.Box[float64](t.Context(), s, "v", box)
		require.ErrorIs(t, err, archive.ErrShape, "%v", box)
	}
	_, err = archive.Box[float64](t.Context(), s, "shared", cptypes.Box{})
	require.ErrorContains(t, err, "only partitioned arrays have boxes")
	_, err = j.open(t).Snapshot(t.Context(), storage.ID{Version: 9})
	require.ErrorIs(t, err, archive.ErrNoVersion)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Read(ctx, "v", 0, new([]float64)), context.Canceled)

	empty := t.TempDir()
	a, err := archive.Open(t.Context(), empty)
	require.NoError(t, err)
	_, err = a.Latest(t.Context())
	require.ErrorIs(t, err, archive.ErrNoVersion)
}

// Lost nodes: what copies and parity give back is as good. What a level does not survive is
// incomplete, and what is left can be read.
func TestLostNodes(t *testing.T) {
	for level, lost := range map[string][]int{"partner": {1}, "xor": {2}, "rs": {0, 3}} {
		t.Run(level, func(t *testing.T) {
			j := newJob(t)
			j.run(t, level, 2, nil)
			for _, n := range lost {
				require.NoError(t, os.RemoveAll(j.node(n)))
			}
			a := j.open(t)
			versions, err := a.Versions(t.Context())
			require.NoError(t, err)
			for i, v := range versions {
				require.Equal(t, archive.Complete, v.State, v.Why)
				require.Equal(t, level, v.Planned.String())
				require.Len(t, v.Places, ranks-len(lost))
				require.NotEmpty(t, v.Places[0].Host)
				s, err := a.Snapshot(t.Context(), v.ID)
				require.NoError(t, err)
				requireAll(t, s, i+1)
			}
		})
	}
	j := newJob(t)
	j.run(t, "local", 1, nil)
	require.NoError(t, os.RemoveAll(j.node(0)))
	a := j.open(t)
	versions, err := a.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, archive.Incomplete, versions[0].State)
	require.Equal(t, "3 of 4 parts", versions[0].Why)
	_, err = a.Latest(t.Context())
	require.ErrorIs(t, err, archive.ErrNoVersion)
	s, err := a.Snapshot(t.Context(), versions[0].ID)
	require.NoError(t, err)
	var mine int64
	require.NoError(t, s.Read(t.Context(), "mine", 2, &mine))
	require.EqualValues(t, 102, mine)
	require.ErrorIs(t, s.Read(t.Context(), "mine", 0, &mine), storage.ErrNotFound)
	_, _, err = archive.Array[float64](t.Context(), s, "v")
	require.ErrorIs(t, err, storage.ErrNotFound)
}

// What is damaged in one place is read from the next.
func TestDamage(t *testing.T) {
	j := newJob(t)
	j.run(t, "partner,pfs", 1, nil)
	homes, err := filepath.Glob(filepath.Join(j.dir(), "v-*", "rank-*"))
	require.NoError(t, err)
	require.Len(t, homes, ranks)
	flip := func(path string, at int) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[at*len(data)/8] ^= 0x10
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	for i, home := range homes {
		flip(home, 2*i)
	}
	parts, err := filepath.Glob(filepath.Join(j.node(2), "c-*", "v-*", "rank-*"))
	require.NoError(t, err)
	flip(parts[0], 3)
	s, err := j.open(t).Latest(t.Context())
	require.NoError(t, err)
	requireAll(t, s, 1)

	alone := newJob(t)
	alone.run(t, "", 1, nil)
	homes, err = filepath.Glob(filepath.Join(alone.dir(), "v-*", "rank-00001*"))
	require.NoError(t, err)
	flip(homes[0], 4)
	s, err = alone.open(t).Latest(t.Context())
	require.NoError(t, err)
	_, _, v := archive.Array[float64](t.Context(), s, "v")
	_, _, shared := archive.Array[float64](t.Context(), s, "shared")
	require.ErrorIs(t, errors.Join(v, shared), storage.ErrDamaged)
}

// What is on nodes of other machines is listed with host and directory, never taken for
// lost.
func TestNodesElsewhere(t *testing.T) {
	j := newJob(t)
	j.run(t, "local", 1, nil)
	path := filepath.Join(j.dir(), manifest.Name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	m, err := manifest.Parse(data)
	require.NoError(t, err)
	m.Nodes[3].Host = "far"
	data, err = m.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.NoError(t, os.RemoveAll(j.node(3)))
	a := j.open(t)
	versions, err := a.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, archive.Elsewhere, versions[0].State)
	require.Contains(t, versions[0].Why, "far ("+string(m.Nodes[3].Dir)+")")
	s, err := a.Snapshot(t.Context(), versions[0].ID)
	require.NoError(t, err)
	var mine int64
	require.NoError(t, s.Read(t.Context(), "mine", 1, &mine))
	err = s.Read(t.Context(), "mine", 3, &mine)
	require.ErrorIs(t, err, archive.ErrElsewhere)
	require.ErrorContains(t, err, "far ("+string(m.Nodes[3].Dir)+")")
}

// A version that a job deletes while it is read ends in an error that says so.
func TestDeletedMeanwhile(t *testing.T) {
	for _, levels := range []string{"", "partner"} {
		j := newJob(t)
		j.run(t, levels, 1, nil)
		s, err := j.open(t).Latest(t.Context())
		require.NoError(t, err)
		for _, place := range s.Version().Places {
			require.NoError(t, os.RemoveAll(place.Dir))
		}
		_, _, err = archive.Array[float64](t.Context(), s, "v")
		require.ErrorIs(t, err, archive.ErrDeleted)
		require.ErrorContains(t, err, "was deleted while it was read")
	}
}

// A job goes on meanwhile.
func TestWhileTheJobRuns(t *testing.T) {
	j := newJob(t)
	j.run(t, "partner", 3, func(*checkpoint.Checkpoint) {
		s, err := j.open(t).Latest(t.Context())
		require.NoError(t, err)
		requireAll(t, s, 3)
	})
}

func Example() {
	dir, _ := os.MkdirTemp("", "archive")
	defer os.RemoveAll(dir)
	ctx := context.Background()
	err := afttest.Run(ctx, 3, func(ctx context.Context, c *comm.Comm) error { // a job of three ranks
		lo, hi := 2*int(c.Rank()), 2*int(c.Rank())+2
		v := []float64{float64(lo), float64(lo + 1)}
		cp, err := checkpoint.New("solver", c, checkpoint.WithPath(dir), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		cp.Add("v", cptypes.Partitioned(&v, lo, hi, 6))
		return errors.Join(cp.Commit(), cp.UpdateAndWrite(ctx, 40, 10), cp.Close())
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := archive.Open(ctx, filepath.Join(dir, "solver"))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := a.Latest(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, shape, err := archive.Array[float64](ctx, s, "v")
	fmt.Println(s.Version().Iteration, v, shape, err)
	var part []float64
	err = s.Read(ctx, "v", 1, &part)
	fmt.Println(part, err)
	// Output:
	// 40 [0 1 2 3 4 5] [6] <nil>
	// [2 3] <nil>
}
