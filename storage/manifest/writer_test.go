package manifest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// home is one whose manifest is written by a function.
type home struct {
	data  []byte
	write func(data []byte) error
}

func (h *home) ReadMetadata(context.Context, string) ([]byte, error) { return h.data, nil }

func (h *home) WriteMetadata(_ context.Context, name string, data []byte) error {
	if h.write != nil {
		if err := h.write(data); err != nil {
			return err
		}
	}
	h.data = data
	return nil
}

func idOf(version uint64, attempt byte) storage.ID {
	return storage.ID{Version: version, Attempt: container.AttemptID{attempt}}
}

func newWriter(h *home, nodes ...Node) *Writer {
	w := NewWriter(New("1"), false)
	w.Begin(Job{Home: h, Checkpoint: "cp", Nodes: nodes})
	return w
}

func TestReserve(t *testing.T) {
	written := 0
	w := newWriter(&home{write: func([]byte) error { written++; return nil }})
	reserve := func(version uint64, attempt byte) uint64 {
		require.NoError(t, w.Reserve(t.Context(), idOf(version, attempt)))
		return w.State().Reserved.Version
	}
	require.EqualValues(t, 109, reserve(10, 1))
	for version := uint64(11); version <= 109; version++ {
		require.EqualValues(t, 109, reserve(version, 1))
	}
	require.Equal(t, 1, written)
	require.EqualValues(t, 209, reserve(110, 1))
	require.EqualValues(t, 210+200-1, reserve(210, 1), "as many as were written")
	require.EqualValues(t, 399, reserve(300, 2), "those of another attempt do not count")
	require.EqualValues(t, uint64(math.MaxUint64), reserve(math.MaxUint64-1, 3))
	require.Equal(t, 5, written)
}

// From the first number on that an attempt has reserved no other one that the home knows of
// has used any.
func TestAnnounced(t *testing.T) {
	h := &home{}
	w := newWriter(h)
	require.False(t, w.State().Announced(idOf(1, 1)), "nothing has been noted")
	check := func(attempt, other byte, first uint64) {
		t.Helper()
		s := w.State()
		require.True(t, s.Announced(idOf(first, attempt)))
		require.True(t, s.Announced(idOf(first+1000, attempt)), "the manifest may be an older one of that attempt")
		require.True(t, s.Announced(idOf(first-1, other)))
		require.False(t, s.Announced(idOf(first, other)))
		require.False(t, s.Announced(idOf(first+1000, other)))
	}
	require.NoError(t, w.Reserve(t.Context(), idOf(10, 1)))
	check(1, 2, 10)
	require.NoError(t, w.Reserve(t.Context(), idOf(110, 1)))
	check(1, 2, 10)
	require.NoError(t, w.GiveBack(t.Context(), idOf(120, 1)))
	check(1, 2, 10)

	found, ok, err := Read(t.Context(), h)
	require.True(t, ok && err == nil)
	w = NewWriter(found, true)
	w.Begin(Job{Home: h, Checkpoint: "cp"})
	require.NoError(t, w.Reserve(t.Context(), idOf(121, 2)))
	check(2, 1, 121)
	require.NoError(t, w.GiveBack(t.Context(), idOf(0, 2)))
	check(1, 2, 10)

	w.last.ReservedFrom = 0 // by a program of before
	check(1, 2, 121)
}

// A manifest that could not be written does not count: the next version has to be
// noted still. Nobody waits for the parallel file system while it is written.
func TestManifestThatFails(t *testing.T) {
	h := &home{}
	w := newWriter(h)
	newest := container.Header{Version: 3, Size: 2}
	full := errors.New("no room")
	h.write = func([]byte) error {
		require.True(t, w.mu.TryLock(), "all that asks for anything waits for the parallel file system")
		w.mu.Unlock()
		return full
	}
	a := Announcement{Newest: &newest, Levels: storage.LevelsOf(storage.Local)}
	require.ErrorIs(t, w.Announce(t.Context(), a), full)
	require.Nil(t, w.State().Newest)
	require.False(t, w.Stored())

	h.write = nil
	require.NoError(t, w.Announce(t.Context(), a))
	require.EqualValues(t, 3, w.State().Newest.ID.Version)
	require.True(t, w.Stored())
}

// The nodes of the last job stay until there is a version on those of this one.
func TestNodesOfTwoJobs(t *testing.T) {
	h := &home{}
	was := newWriter(h, Node{Host: "a", Dir: "/n/0/cp", Ranks: []int{0}}, Node{Host: "b", Dir: "/n/0/cp", Ranks: []int{1}})
	require.NoError(t, was.Announce(t.Context(), Announcement{}))
	found, _, err := Read(t.Context(), h)
	require.NoError(t, err)
	now := NewWriter(found, true)
	now.Begin(Job{Home: h, Nodes: []Node{{Host: "b", Dir: "/n/0/cp", Ranks: []int{0}}, {Host: "c", Dir: "/n/0/cp", Ranks: []int{1}}}})
	require.NoError(t, now.Announce(t.Context(), Announcement{}))
	require.Equal(t, []Node{{Host: "a", Dir: "/n/0/cp", Ranks: []int{0}}, {Host: "b", Dir: "/n/0/cp", Ranks: []int{0, 1}}, {Host: "c", Dir: "/n/0/cp", Ranks: []int{1}}}, now.Last().Nodes)
	require.NoError(t, now.Announce(t.Context(), Announcement{Newest: &container.Header{Version: 1, Size: 2}}))
	require.Equal(t, now.job.Nodes, now.Last().Nodes)
}

// Jobs on some of the nodes store, die, heal older versions onto nodes, or end without a
// version. Whatever has happened: a job that has a witness of the attempt that reserved finds
// all that this attempt has written, and what any attempt has written is not above the
// highest number that is found by such a job, or reserved.
func TestReserveAtRandom(t *testing.T) {
	rng := testseed.Rand(t)
	for range 2000 {
		m := &model{h: &home{}, wrote: make(map[byte]uint64), has: make(map[string]map[byte]uint64)}
		for attempt := byte(1); attempt < 8; attempt++ {
			m.job(t, rng, attempt)
		}
	}
}

// model is what jobs have really done.
type model struct {
	h     *home
	wrote map[byte]uint64            // the highest number that an attempt has written
	has   map[string]map[byte]uint64 // by node: the highest number of each attempt that is there
}

func (m *model) job(t *testing.T, rng *rand.Rand, attempt byte) {
	var nodes []Node
	for _, host := range []string{"a", "b", "c", "d"} {
		if rng.IntN(2) == 0 {
			nodes = append(nodes, Node{Host: host, Dir: "/n/cp"})
		}
	}
	if len(nodes) == 0 {
		return
	}
	found, stored, err := Read(t.Context(), m.h)
	require.NoError(t, err)
	if !stored {
		found = New("1")
	}
	w := NewWriter(found, stored)
	w.Begin(Job{Home: m.h, Nodes: nodes})
	storesOf := func(of container.AttemptID) (out []bool) {
		for _, n := range nodes {
			out = append(out, m.has[n.Host][of[0]] > 0)
		}
		return out
	}
	seen := uint64(0) // that the nodes of this job show
	for _, n := range nodes {
		for _, v := range m.has[n.Host] {
			seen = max(seen, v)
		}
	}
	used, state := seen, w.State()
	if !state.Reserved.IsZero() {
		if !w.HasWitness(storesOf(state.Reserved.Attempt)) {
			used = max(used, state.Reserved.Version)
		} else {
			require.GreaterOrEqual(t, seen, m.wrote[state.Reserved.Attempt[0]], "a witness has not shown all")
		}
	}
	for by, v := range m.wrote {
		require.LessOrEqual(t, v, used, "attempt %d has written %d", by, v)
	}
	if seen > 0 { // something is restored, and brought to nodes
		require.NoError(t, w.TakeOver(t.Context(), idOf(used, attempt), storesOf))
		m.heal(rng, nodes)
	}
	if rng.IntN(3) == 0 { // it could not begin
		require.NoError(t, w.GiveBack(t.Context(), idOf(0, attempt)))
		return
	}
	for v := used + 1; v <= used+rng.Uint64N(3); v++ {
		require.NoError(t, w.Reserve(t.Context(), idOf(v, attempt)))
		m.wrote[attempt] = v
		for _, n := range nodes {
			m.put(n.Host, attempt, v)
		}
	}
	if m.wrote[attempt] > 0 && rng.IntN(2) == 0 { // else it is killed
		require.NoError(t, w.GiveBack(t.Context(), idOf(m.wrote[attempt], attempt)))
	}
}

// heal brings what one node has of an attempt to another one.
func (m *model) heal(rng *rand.Rand, nodes []Node) {
	for _, from := range nodes {
		for attempt, v := range m.has[from.Host] {
			if to := nodes[rng.IntN(len(nodes))]; rng.IntN(3) == 0 {
				m.put(to.Host, attempt, 1+rng.Uint64N(v))
			}
		}
	}
}

func (m *model) put(host string, attempt byte, version uint64) {
	if m.has[host] == nil {
		m.has[host] = make(map[byte]uint64)
	}
	m.has[host][attempt] = max(m.has[host][attempt], version)
}

// The file is what it has always been, and every byte of a path is kept.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/NODES.json")
	require.NoError(t, err)
	m, err := Parse(want)
	require.NoError(t, err)
	require.EqualValues(t, "/scratch/\xff/solver-12ab", m.Nodes[1].Dir)
	got, err := m.Encode()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	s := m.State()
	require.Equal(t, idOf(140, 1).Version, s.Reserved.Version)
	require.EqualValues(t, 41, s.ReservedFrom)
	require.Equal(t, storage.LevelsOf(storage.Partner), s.Newest.Levels)
	require.Equal(t, "n1 (/scratch/node-0/solver-12ab), n2 (/scratch/\xff/solver-12ab)", s.Where)
}

func TestMistakes(t *testing.T) {
	for data, want := range map[string]string{
		"": "unexpected end", "[]": "cannot unmarshal", `{"format":2,"id":"x"}`: "format 2, this program knows 1",
		`{"format":2}`: "format 2", `{"format":1}`: "it has no id", `{"format":1,"id":"x","reserved":"v-1"}`: `reserved "v-1" is no name of a version`,
	} {
		_, err := Parse([]byte(data))
		require.ErrorContains(t, err, want, data)
		_, ok, err := Read(t.Context(), &home{data: []byte(data)})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, "the manifest of the nodes is not valid: NODES.json in the checkpoint's directory cannot be understood")
		require.NotContains(t, err.Error(), "levels cannot be built", "that is about what the levels are made of")
		require.ErrorContains(t, err, "if nothing on the nodes is needed, delete it")
		require.False(t, ok)
	}
	_, ok, err := Read(t.Context(), &home{})
	require.True(t, !ok && err == nil)
}

func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile("testdata/NODES.json")
	require.NoError(f, err)
	f.Add(golden)
	f.Add([]byte(`{"format":1,"id":"x","nodes":[{"host":"h","directory":"/d"}],"newest":{"directory":"v"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		_ = m.State()
		again, err := m.Encode()
		require.NoError(t, err)
		back, err := Parse(again)
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}
