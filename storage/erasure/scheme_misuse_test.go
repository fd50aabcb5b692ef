package erasure

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// What others ask for is checked.
func TestHandleIsNotFooled(t *testing.T) {
	x := newTrial(t, 3, 1)
	over := make(chan struct{})
	x.play(func(m *member) {
		if m.me != 0 { // it stays: the part of one that has gone is not waited for
			<-over
			return
		}
		defer close(over)
		good := m.scheme.name(idOf(1), m.part(1))
		require.Equal(t, "parity/v-000001-0102030000000000/rank-00001-of-00003.craft", good)
		for _, bad := range []string{"", "parity", "parity/", "xor" + good, good + "x", strings.Replace(good, "rank-00001", "copy-rank-00001", 1),
			strings.Replace(good, "rank-00001", "rank-00002", 1), strings.Replace(good, "of-00003", "of-00002", 1)} {
			_, err := m.scheme.Handle(m.ctx, 1, bad)
			require.ErrorIs(t, err, ErrInvalid, bad)
		}
		for _, from := range []comm.Rank{0, 2, 3, -1} {
			_, err := m.scheme.Handle(m.ctx, from, good)
			require.ErrorIs(t, err, ErrInvalid, from)
		}
		_, err := m.scheme.Create(m.ctx, idOf(1), m.part(1))
		require.ErrorIs(t, err, ErrInvalid)
		_, err = m.scheme.Create(m.ctx, idOf(1), storage.Part{Rank: 0, Size: 2})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorIs(t, m.scheme.Skip(m.ctx, idOf(1), m.part(2)), ErrInvalid)
		for v, wrong := range map[uint64]func(w storage.PartWriter, header []byte) error{
			1: func(w storage.PartWriter, _ []byte) error { _, err := w.Write(make([]byte, 10)); return err },
			2: func(w storage.PartWriter, _ []byte) error { return w.Commit() },
			3: func(w storage.PartWriter, h []byte) error { _, _ = w.Write(h); return w.Commit() },
			4: func(w storage.PartWriter, h []byte) error {
				_, _ = w.Write(append(h, make([]byte, 100)...)) // of a part of 0 bytes, it says
				return w.Commit()
			},
			5: func(w storage.PartWriter, h []byte) error {
				_, _ = w.Write(append(h, "01234567abcd"...)) // no such size
				return w.Commit()
			},
		} {
			w, err := m.scheme.Handle(m.ctx, 1, m.scheme.name(idOf(v), m.part(1)))
			require.NoError(t, err)
			_, err = m.scheme.Handle(m.ctx, 1, m.scheme.name(idOf(v), m.part(1)))
			require.ErrorIs(t, err, ErrInvalid, "twice")
			h := m.scheme.header(1, version{idOf(v), 3})
			err = wrong(w, appendHeader(nil, &h))
			require.ErrorIs(t, err, ErrMismatch, v)
			var giver *GiverError
			require.ErrorAs(t, err, &giver)
			require.Equal(t, 1, giver.Rank)
			require.NoError(t, w.Abort())
		}
	})
}

// A stream comes for a version that ended long ago.
func TestEndedVersions(t *testing.T) {
	var e ended
	why := errors.New("why")
	for v := range uint64(200) {
		id := version{idOf(v + 1), 4}
		require.NoError(t, e.find(id))
		if v%2 == 0 {
			e.add(id, why)
			require.ErrorIs(t, e.find(id), why)
		} else {
			e.add(id, nil)
			require.ErrorIs(t, e.find(id), ErrOver)
		}
		require.LessOrEqual(t, len(e.last), rememberEnded)
	}
	for v := range uint64(200) {
		require.Error(t, e.find(version{idOf(v + 1), 4}))
	}
	require.NoError(t, e.find(version{idOf(201), 4}))
	require.NoError(t, e.find(version{storage.ID{Version: 1}, 4}), "another attempt")
}

func TestBadSchemes(t *testing.T) {
	x := newTrial(t, 2, 1)
	x.play(func(m *member) {
		good := SchemeConfig{Service: m.service, Node: x.nodes[m.me], Rank: 1, Set: []int{4, 1, 2}, Parity: 1, Prefix: "parity", Log: slog.New(slog.DiscardHandler)}
		s, err := NewScheme(good)
		require.NoError(t, err)
		require.NoError(t, s.Close(m.ctx))
		require.NoError(t, s.Close(m.ctx))
		for _, change := range []func(c *SchemeConfig){
			func(c *SchemeConfig) { c.Service = nil }, func(c *SchemeConfig) { c.Node = nil },
			func(c *SchemeConfig) { c.Rank = 3 }, func(c *SchemeConfig) { c.Set = []int{1} },
			func(c *SchemeConfig) { c.Set = []int{1, 2, 1} }, func(c *SchemeConfig) { c.Set = []int{1, -1} },
			func(c *SchemeConfig) { c.Parity = 0 }, func(c *SchemeConfig) { c.Parity = 3 },
			func(c *SchemeConfig) { c.Block = -1 }, func(c *SchemeConfig) { c.Prefix = "a/b" },
		} {
			bad := good
			change(&bad)
			_, err := NewScheme(bad)
			require.ErrorIs(t, err, ErrInvalid)
		}
	})
}

// A set of ranks that the job does not have is an error of the first version.
func TestSetBeyondTheJob(t *testing.T) {
	x := newTrial(t, 2, 1)
	over := make(chan struct{})
	x.play(func(m *member) {
		if m.me != 0 {
			<-over
			return
		}
		defer close(over)
		s, err := NewScheme(SchemeConfig{Service: m.service, Node: x.nodes[m.me], Rank: m.me, Set: []int{0, 1, 2}, Parity: 1, Block: 1000, Prefix: "other", Log: slog.New(slog.DiscardHandler)})
		require.NoError(m.t, err)
		_, err = s.Create(m.ctx, idOf(1), storage.Part{Rank: m.me, Size: 3})
		require.ErrorIs(m.t, err, comm.ErrRank)
		require.NoError(m.t, s.Close(m.ctx))
	})
}
