package heal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// nodes stands for the nodes of a job: it remembers what it was asked for.
type nodes struct {
	mu      sync.Mutex
	asked   []string
	fails   map[string]error
	bring   func(ctx context.Context) // what Bring waits for
	deleted bool
}

func (n *nodes) note(what string, args ...any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprintf(what, args...)
	n.asked = append(n.asked, text)
	return n.fails[text]
}

func (n *nodes) Bring(ctx context.Context, id storage.ID) error {
	if n.bring != nil {
		n.bring(ctx)
	}
	return errors.Join(n.note("bring %d", id.Version), ctx.Err())
}

func (n *nodes) Protect(_ context.Context, id storage.ID, l storage.Level) error {
	return n.note("protect %d %v", id.Version, l)
}

func (n *nodes) Skip(id storage.ID, l storage.Level) error {
	return n.note("skip %d %v", id.Version, l)
}

func (n *nodes) Healed(_ context.Context, id storage.ID) error {
	return n.note("healed %d", id.Version)
}

func (n *nodes) Deleted(storage.ID) bool { return n.deleted }

func healer(t *testing.T, n *nodes) (*Healer, *bytes.Buffer) {
	var log bytes.Buffer
	h := New(t.Context(), n, Options{Around: func(body func()) { body() }, Log: slog.New(slog.NewTextHandler(&log, nil))})
	return h, &log
}

// memory is on another tier than xor, so that a version can be at both.
var memory = storage.Declare(storage.Level{
	Name: "memory", Tier: storage.TierMemory, Redundancy: storage.Copies, Survives: storage.Losses{Process: true, Nodes: 1},
})

func id(version uint64) storage.ID { return storage.ID{Version: version} }

// What others wait for is given, or they are told that it is not; rank 0 hears of it when all
// is done, and people of what is not.
func TestHeal(t *testing.T) {
	both := storage.LevelsOf(memory, storage.XOR)
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		work  Work
		fails map[string]error
		asked []string
		says  string
	}{
		"all is well":        {Work{ID: id(1), Plan: both, By: both, Left: both}, nil, []string{"bring 1", "protect 1 xor", "protect 1 memory", "healed 1"}, "redundancy is back"},
		"nothing protects":   {Work{ID: id(1), Plan: both}, nil, []string{"bring 1"}, "nothing else protects it"},
		"no part":            {Work{ID: id(1), Plan: both, By: both, Left: both}, map[string]error{"bring 1": bad}, []string{"bring 1", "skip 1 xor", "skip 1 memory"}, "redundancy is not back"},
		"one scheme fails":   {Work{ID: id(1), Plan: both, By: both, Left: both}, map[string]error{"protect 1 xor": bad}, []string{"bring 1", "protect 1 xor", "skip 1 memory"}, "redundancy is not back"},
		"parity is needed":   {Work{ID: id(1), Plan: both, By: both, Left: both, ParityStays: true}, nil, []string{"bring 1"}, "stays as it is"},
		"nobody hears of it": {Work{ID: id(1), Plan: both, By: storage.LevelsOf(storage.XOR), Left: storage.LevelsOf(storage.XOR)}, map[string]error{"healed 1": bad}, []string{"bring 1", "protect 1 xor", "healed 1"}, "redundancy is back"},
		"the copy is there":  {Work{ID: id(1), Plan: both, By: both, Left: storage.LevelsOf(storage.XOR), Here: true}, nil, []string{"bring 1", "protect 1 xor", "healed 1"}, "redundancy is back"},
		"nothing left":       {Work{ID: id(1), Plan: both, By: both, Here: true}, nil, []string{"healed 1"}, "redundancy is back"},
		"only the part":      {Work{ID: id(1), Plan: both, By: both}, nil, []string{"bring 1", "healed 1"}, "redundancy is back"},
		"torn":               {Work{ID: id(1), Torn: true}, nil, []string{"bring 1"}, "a damaged part was mended"},
		"a torn copy":        {Work{ID: id(1), Torn: true, Left: storage.LevelsOf(memory)}, nil, []string{"bring 1", "protect 1 memory"}, "a damaged part was mended"},
		"torn, and stays so": {Work{ID: id(1), Torn: true}, map[string]error{"bring 1": bad}, []string{"bring 1"}, "a damaged part is not mended"},
	} {
		n := &nodes{fails: c.fails}
		h, log := healer(t, n)
		h.Heal([]Work{c.work})
		h.Wait()
		require.Equal(t, c.asked, n.asked, name)
		require.Contains(t, log.String(), c.says, name)
	}
}

// One version after the other, and nothing is said of one that is deleted.
func TestDeletedWhileItHeals(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		began := make(chan struct{})
		n := &nodes{bring: func(ctx context.Context) { close(began); <-ctx.Done() }}
		h, log := healer(t, n)
		h.Heal([]Work{{ID: id(1), Plan: storage.LevelsOf(storage.XOR), By: storage.LevelsOf(storage.XOR), Left: storage.LevelsOf(storage.XOR)}})
		<-began
		require.False(t, h.Canceled(id(1)))
		if forgotten {
			h.Forget(id(1))
		} else {
			h.Cancel(id(1))
		}
		h.Wait()
		require.Equal(t, !forgotten, h.Canceled(id(1)))
		require.Equal(t, []string{"bring 1", "skip 1 xor"}, n.asked)
		require.Empty(t, log.String())
	}
	// Others were told before this rank, and have given up.
	n := &nodes{deleted: true, fails: map[string]error{"bring 1": errors.New("bad")}}
	h, log := healer(t, n)
	h.Heal([]Work{{ID: id(1), Plan: storage.LevelsOf(storage.XOR)}})
	h.Wait()
	require.Empty(t, log.String())
}

func TestOneAfterTheOther(t *testing.T) {
	n := &nodes{}
	h, _ := healer(t, n)
	xor := storage.LevelsOf(storage.XOR)
	h.Heal(nil)
	h.Heal([]Work{{ID: id(3), Torn: true}, {ID: id(1), Plan: xor, By: xor, Left: xor}, {ID: id(2), Plan: xor, By: xor, Left: xor}})
	h.Wait()
	require.Equal(t, []string{"bring 3", "bring 1", "protect 1 xor", "healed 1", "bring 2", "protect 2 xor", "healed 2"}, n.asked)
	h.Cancel(id(1)) // which is over
	require.True(t, slices.Contains(n.asked, "healed 1") && h.Canceled(id(1)))
	h.Forget(id(1))
	require.Empty(t, h.keeps[id(1)])
	require.Len(t, h.keeps, 2)
}
