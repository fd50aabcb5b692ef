package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// asking is a checkpoint of a job that is asked by files.
type asking struct {
	t     *testing.T
	base  string
	point *demand.Point
	lane  *demand.Lane
	cp    *Checkpoint
	files *filestore.Requests
	log   *strings.Builder
}

func newAsking(t *testing.T, base string, opts ...Option) *asking {
	a := &asking{t: t, base: base, point: demand.NewLocal(), log: new(strings.Builder)}
	a.lane = a.point.Join(demand.World)
	a.open("job", opts...)
	return a
}

// open makes a checkpoint, which begins an attempt.
func (a *asking) open(name string, opts ...Option) *Checkpoint {
	cp, err := New(name, nil, append([]Option{WithPath(a.base), WithSync(SyncNone), func(o *options) {
		o.lookEvery, o.point = time.Millisecond, a.point
		o.lock.Job = "the-job"
	}, WithLogger(slog.New(slog.NewTextHandler(a.log, nil)))}, opts...)...)
	require.NoError(a.t, err)
	require.NoError(a.t, errors.Join(cp.Add("x", new(int)), cp.Commit(), cp.RestartIfNeeded(a.t.Context(), nil)))
	a.t.Cleanup(func() { _ = cp.Close() })
	if a.cp == nil {
		a.cp, a.files = cp, filestore.RequestsIn(vfs.OS(), cp.dir())
	}
	return cp
}

func (a *asking) ask(q storage.Request) string {
	a.t.Helper()
	q.Format, q.By, q.Created = 1, "me@here", time.Now()
	if q.Job == "" {
		q.Job = "the-job"
	}
	id, err := a.files.Ask(q)
	require.NoError(a.t, err)
	return id
}

func (a *asking) eventually(is func() bool) {
	a.t.Helper()
	require.Eventually(a.t, is, time.Minute, time.Millisecond)
}

// answer waits for an answer of a state.
func (a *asking) answer(id string, state storage.AnswerState) (got *storage.Answer) {
	a.t.Helper()
	a.eventually(func() bool {
		got, _ = a.files.ReadAnswer(id)
		return got != nil && got.State == state
	})
	return got
}

func (a *asking) gone(id string) {
	a.t.Helper()
	a.eventually(func() bool {
		left, err := filepath.Glob(filepath.Join(a.cp.dir(), "*"+id+"*"))
		return err == nil && len(left) == 0
	})
}

// meet comes to calls until something is demanded.
func (a *asking) meet() (m *demand.Meeting) {
	a.t.Helper()
	a.eventually(func() bool {
		var err error
		m, err = a.lane.Call(a.t.Context())
		require.NoError(a.t, err)
		return m != nil
	})
	a.lane.Done(m)
	return m
}

func ids(m *demand.Meeting) (list []string) {
	for _, d := range m.For {
		list = append(list, d.ID)
	}
	return list
}

var versionTwelve = container.Header{Name: "job", Version: 12, Iteration: 340, Attempt: container.AttemptID{1, 2}}

func TestCheckpointIsAskedFor(t *testing.T) {
	a := newAsking(t, t.TempDir())
	id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	a.answer(id, storage.AnswerAsked)
	m := a.meet()
	require.Nil(t, m.Ends())
	require.Equal(t, []string{id}, ids(m))
	require.Equal(t, "craft checkpoint", m.For[0].Source)
	a.cp.req.saved(append(ids(m), "of somebody else"), versionTwelve, 0)
	got := a.answer(id, storage.AnswerSaved)
	require.EqualValues(t, 12, got.Version)
	require.EqualValues(t, 340, *got.Iteration)
	require.Equal(t, "0102000000000000", got.Attempt)
	require.Equal(t, "pfs", got.Level)
	a.eventually(func() bool { list, err := a.files.ListRequests(t.Context()); return err == nil && len(list) == 0 })

	id = a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	a.cp.req.failed(ids(a.meet()), errors.New("no room"))
	require.Equal(t, "no room", a.answer(id, storage.AnswerFailed).Error)
}

// Finish may be the call at which a version was asked for.
func TestCheckpointIsAskedForAtFinish(t *testing.T) {
	a := newAsking(t, t.TempDir())
	for n := range 2 { // the second one has nothing to write
		id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
		a.answer(id, storage.AnswerAsked)
		require.NoError(t, a.cp.Finish(t.Context(), 9), n)
		require.EqualValues(t, 1, a.answer(id, storage.AnswerSaved).Version)
	}
}

// The version may be one of another checkpoint, and told by it.
func TestAnotherCheckpointAnswers(t *testing.T) {
	a := newAsking(t, t.TempDir())
	other := a.open("other")
	id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	h := versionTwelve
	h.Name, h.Iteration = "other", container.NoIteration
	other.req.saved(ids(a.meet()), h, 0)
	got := a.answer(id, storage.AnswerSaved)
	require.Equal(t, "other", got.Checkpoint)
	require.Nil(t, got.Iteration)
}

func TestHaltNow(t *testing.T) {
	a := newAsking(t, t.TempDir())
	id := a.ask(storage.Request{Kind: storage.RequestHalt})
	end := a.meet().Ends()
	require.NotNil(t, end)
	require.Equal(t, demand.Halt, end.Cause)
	require.Equal(t, "craft halt by me@here", end.Source)
	require.Equal(t, demand.NoLimit, end.Left)
	a.answer(id, storage.AnswerAsked)
	late := a.ask(storage.Request{Kind: storage.RequestCheckpoint}) // the end stores one
	a.answer(late, storage.AnswerAsked)
	a.cp.req.ended(demand.Halt, &versionTwelve, 0)
	left, err := filepath.Glob(filepath.Join(a.cp.dir(), "*"+id+"*"))
	require.NoError(t, err)
	require.Empty(t, left, "when it has returned")
	require.EqualValues(t, 12, a.answer(late, storage.AnswerSaved).Version)
}

func TestHaltAfterCheckpoints(t *testing.T) {
	base := t.TempDir()
	a := newAsking(t, base)
	id := a.ask(storage.Request{Kind: storage.RequestHalt, AfterCheckpoints: 3})
	a.answer(id, storage.AnswerWaiting)
	a.cp.req.counted()
	a.eventually(func() bool { got, _ := a.files.ReadAnswer(id); return got != nil && got.Counted == 1 })
	end, _ := a.point.End()
	require.Nil(t, end)
	// What was counted is known after a recovery, whoever looks then.
	require.NoError(t, a.cp.Close())
	a = newAsking(t, base)
	a.eventually(func() bool { return a.cp.req.knows(id) })
	a.cp.req.counted()
	end, _ = a.point.End()
	require.Nil(t, end)
	a.cp.req.counted()
	require.Equal(t, demand.Halt, a.meet().Ends().Cause)
	a.answer(id, storage.AnswerAsked)
	a.cp.req.counted() // no more
	require.Equal(t, 3, a.answer(id, storage.AnswerAsked).Counted)
	a.cp.req.ended(demand.Halt, nil, 0)
	a.gone(id)
}

func TestHaltAtATime(t *testing.T) {
	a := newAsking(t, t.TempDir())
	at := time.Now().Add(time.Hour)
	id := a.ask(storage.Request{Kind: storage.RequestHalt, At: &at})
	a.answer(id, storage.AnswerWaiting)
	a.eventually(func() bool { return a.point.Plan() != nil })
	plan := a.point.Plan()
	require.Equal(t, demand.Halt, plan.Cause)
	require.InDelta(t, time.Hour, time.Until(plan.Deadline), float64(time.Minute))
	soon := at.Add(-30 * time.Minute) // by the same user: both are known
	second := a.ask(storage.Request{Kind: storage.RequestHalt, At: &soon})
	a.eventually(func() bool { return a.point.Plan().Deadline.Before(plan.Deadline) })

	was, err := a.files.RemoveRequest(t.Context(), second)
	require.NoError(t, err)
	require.True(t, was)
	a.eventually(func() bool { return a.point.Plan().Deadline.Equal(plan.Deadline) })
	a.gone(second)
	end, _ := a.point.End()
	require.Nil(t, end)
	require.NoError(t, a.cp.Close())
	require.Nil(t, a.point.Plan(), "nobody carries it out")
	a.open("job")
	a.eventually(func() bool { return a.point.Plan() != nil })

	past := time.Now().Add(-time.Minute)
	a.ask(storage.Request{Kind: storage.RequestHalt, At: &past})
	require.Equal(t, demand.Halt, a.meet().Ends().Cause)
}

// What ends the job may be something else: what was still to come stays, as nobody has done it.
func TestEndOfAnotherCause(t *testing.T) {
	a := newAsking(t, t.TempDir())
	later := a.ask(storage.Request{Kind: storage.RequestHalt, AfterCheckpoints: 3})
	a.answer(later, storage.AnswerWaiting)
	a.point.Ask(demand.Demand{Cause: demand.Deadline, Source: "limit", Left: time.Hour})
	now := a.ask(storage.Request{Kind: storage.RequestHalt})
	a.answer(now, storage.AnswerAsked)
	save := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	a.answer(save, storage.AnswerAsked)
	a.cp.req.ended(demand.Deadline, nil, 0)
	a.gone(now)
	require.Contains(t, a.answer(save, storage.AnswerFailed).Error, "ended")
	require.FileExists(t, filepath.Join(a.cp.dir(), filestore.RequestPrefix+later+".json"))
	require.NoError(t, a.cp.Close())
	require.Contains(t, a.log.String(), "it may be started again by itself")
}

// Requests to other jobs are none of ours, and bad ones are refused once; the job goes on.
func TestBadRequests(t *testing.T) {
	a := newAsking(t, t.TempDir())
	foreign := a.ask(storage.Request{Kind: storage.RequestHalt, Job: "another"})
	const head = `{"format":1,"job":"the-job","by":"me@here","created":"2026-01-01T00:00:00Z"`
	for i, c := range []struct{ text, says string }{
		{`{"format":1`, "JSON"},
		{"", "JSON"},
		{`[]`, "JSON"},
		{`{"format":2,"new":true}`, "format 2"},
		{`{}`, "no format"},
		{head + `,"kind":"explode"}`, `"explode"`},
		{head + `,"kind":"halt","unless":"it rains"}`, `"unless"`},
		{head + `,"kind":"halt","after_checkpoints":-1}`, "after_checkpoints -1"},
		{head + `,"kind":"halt","after_checkpoints":1,"at":"2026-01-01T00:00:00Z"}`, "only one"},
		{head + `,"kind":"checkpoint","after_checkpoints":1}`, "are for the kind halt"},
		{head + `,"kind":"halt"} and more`, "JSON"},
		{strings.Repeat(" ", 1<<20) + "{}", "too large"},
	} {
		id := fmt.Sprintf("%016x", i)
		made := filepath.Join(a.cp.dir(), "made") // it must not be read before it is whole
		require.NoError(t, os.WriteFile(made, []byte(c.text), 0o600))
		require.NoError(t, os.Rename(made, filepath.Join(a.cp.dir(), filestore.RequestPrefix+id+".json")))
		require.Contains(t, a.answer(id, storage.AnswerFailed).Error, c.says)
		a.eventually(func() bool {
			_, err := a.files.ReadRequest(t.Context(), id)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
	end, _ := a.point.End()
	require.Nil(t, end)
	require.FileExists(t, filepath.Join(a.cp.dir(), filestore.RequestPrefix+foreign+".json"))
	require.NoError(t, a.cp.Write(t.Context()))
}

// slowStore is a directory that takes a second to be listed.
type slowStore struct {
	storage.RequestStore

	looks chan time.Time
	took  time.Duration
	err   error
}

func (s *slowStore) ListRequests(context.Context) ([]string, error) {
	time.Sleep(s.took)
	s.looks <- time.Now()
	return nil, s.err
}

func TestLooksSeldom(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Second, time.Second: 100 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowStore{looks: make(chan time.Time), took: took, err: errors.New("down")}
			home, err := filestore.New(filestore.Config{Path: "/nowhere", Name: "job"})
			require.NoError(t, err)
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, nil))
			r := newRequests(&core{comm: comm.Self(), home: home, log: logger, rootLog: logger})
			r.files = store
			r.start()
			first := <-store.looks
			for range 3 {
				r.wakeUp() // what is to be written is no reason to look
				next := <-store.looks
				require.InDelta(t, want+took, next.Sub(first), float64(time.Millisecond))
				first = next
			}
			go func() {
				for range store.looks {
				}
			}()
			r.close()
			close(store.looks)
			require.Equal(t, 1, strings.Count(log.String(), "down"), "of four errors")
		})
	}
}

// failingStore cannot write answers for some time.
type failingStore struct {
	storage.RequestStore

	left atomic.Int32
}

func (s *failingStore) AnswerRequest(ctx context.Context, id string, a storage.Answer) error {
	if s.left.Add(-1) >= 0 {
		return errors.New("disk full")
	}
	return s.RequestStore.AnswerRequest(ctx, id, a)
}

func TestAnswerIsTriedAgain(t *testing.T) {
	a := newAsking(t, t.TempDir())
	require.NoError(t, a.cp.Close())
	home, log := a.cp.home, new(strings.Builder)
	logger := slog.New(slog.NewTextHandler(log, nil))
	store := &failingStore{RequestStore: filestore.RequestsOf(home)}
	store.left.Store(5)
	r := newRequests(&core{comm: comm.Self(), home: home, log: logger, rootLog: logger, opt: a.cp.opt})
	r.files = store
	r.start()
	id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	a.answer(id, storage.AnswerAsked)
	r.failed(ids(a.meet()), errors.New("no room"))
	a.answer(id, storage.AnswerFailed)
	r.close()
	require.Equal(t, 1, strings.Count(log.String(), "disk full"), "of five errors")
}

// What was asked of a version goes on in the next attempt, whose process hears of it anew.
func TestRequestSurvivesAnAttempt(t *testing.T) {
	base := t.TempDir()
	a := newAsking(t, base)
	id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
	halt := a.ask(storage.Request{Kind: storage.RequestHalt, AfterCheckpoints: 1})
	a.answer(id, storage.AnswerAsked)
	a.answer(halt, storage.AnswerWaiting)
	before := a.cp
	require.NoError(t, before.Close())
	before.req.saved([]string{id}, versionTwelve, 0) // too late: somebody else may write there
	a = newAsking(t, base)
	m := a.meet()
	require.Equal(t, []string{id}, ids(m))
	a.cp.req.saved(ids(m), versionTwelve, 0)
	a.answer(id, storage.AnswerSaved)
}

// The level is what the version has reached by then.
func TestAnswerNamesTheLevel(t *testing.T) {
	a := newAsking(t, t.TempDir(), WithLevels(storage.Local.Every(1), storage.PFS.Every(10)), WithNodePath(t.TempDir()))
	require.Equal(t, "local", a.cp.req.stored(versionTwelve, storage.LevelsOf(storage.Local)).Level)
}

// Nobody looks before there is an attempt, on other ranks, or after Close.
func TestWhoLooks(t *testing.T) {
	base := t.TempDir()
	a := newAsking(t, base)
	require.NotNil(t, a.cp.req.stop)
	require.NoError(t, a.cp.Close())
	require.Nil(t, a.cp.req.stop)
	id := a.ask(storage.Request{Kind: storage.RequestHalt})
	cp, err := New("job", nil, WithPath(base))
	require.NoError(t, err)
	require.Nil(t, cp.req.stop)
	require.NoError(t, cp.Close())
	got, err := a.files.ReadAnswer(id)
	require.NoError(t, err)
	require.Nil(t, got)
}
