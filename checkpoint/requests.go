package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// requests hears of what somebody asks the job for by a file beside the versions, has all ranks asked
// for it, and answers there. Rank 0 looks, beside the program, from the beginning of an attempt to Close:
// one goroutine reads and writes the files, but for the end, which the program waits for.
//
// A request lies in the directory of one checkpoint, and what is asked for is the job's: the version
// may be one of another checkpoint. So whoever has stored a version, or has ended, tells by the
// identity of the request (saved, failed, ended), on any rank, and the process that has heard of it answers.
type requests struct {
	*core
	files storage.RequestStore
	job   string        // as requests name it
	every time.Duration // between two looks

	wake    chan struct{}
	stop    context.CancelFunc // nil: nobody looks
	looking sync.WaitGroup

	writing sync.Mutex // held by who writes files

	mu    sync.Mutex
	heard map[string]*heard

	// Since when the last one failed that was tried, and it was logged.
	cannotRead, cannotWrite bool
}

// heard is a request that was taken.
type heard struct {
	storage.Request

	id     string
	point  *demand.Point
	answer storage.Answer
	write  bool // the answer is to be written
	met    bool // the job has ended by it: it is to be removed
}

// answerText is how long the text of an error is in an answer, in bytes.
const answerText = 4 << 10

// lookEvery is how often the directory is looked at, and lookShare how many times as long as a look takes
// nobody looks again at least.
const (
	lookEvery = time.Second
	lookShare = 100
)

// waiting has the requests that processes have heard of, by their identities, which are random: what is
// asked of one checkpoint is told of by another one.
var waiting sync.Map // of *requests

func newRequests(c *core) *requests {
	every := cmp.Or(c.opt.lookEvery, lookEvery)
	if c.opt.fs != nil && c.opt.lookEvery == 0 { // of a test, which counts what is done there
		every = time.Hour
	}
	return &requests{
		core: c, files: filestore.RequestsOf(c.home), job: cmp.Or(c.opt.lock.Job, filestore.ThisJob()), every: every,
		wake: make(chan struct{}, 1), heard: make(map[string]*heard),
	}
}

// start begins to look, on rank 0.
func (r *requests) start() {
	if !r.root() || r.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.looking.Go(func() { r.watch(ctx) })
}

// close ends that when everything known has been written. The requests stay for the next attempt.
func (r *requests) close() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.looking.Wait()
	r.stop = nil
	for _, h := range r.goneFrom(nil) {
		h.withdraw() // whoever hears of it next plans it again
	}
}

func (r *requests) watch(ctx context.Context) {
	timer := time.NewTimer(r.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.writeAnswers()
			return
		case <-r.wake:
			r.writeAnswers()
		case <-timer.C:
			began := time.Now()
			r.look(ctx)
			timer.Reset(max(r.every, lookShare*time.Since(began)))
			r.writeAnswers()
		}
	}
}

// look hears of what is new, and of what was taken back.
func (r *requests) look(ctx context.Context) {
	ids, err := r.files.ListRequests(ctx)
	if err != nil {
		r.tell(&r.cannotRead, err)
		return
	}
	for _, id := range ids {
		if !r.knows(id) {
			err = errors.Join(err, r.read(ctx, id))
		}
	}
	r.tell(&r.cannotRead, err)
	for _, h := range r.goneFrom(ids) {
		h.withdraw()
		r.rootLog.Info("a request was taken back", "kind", h.Kind, "by", h.By, "request", h.id)
	}
}

func (r *requests) knows(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard[id] != nil
}

// goneFrom forgets the requests that are not there any more, and returns those of them that were not answered.
func (r *requests) goneFrom(there []string) (back []*heard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, h := range r.heard {
		if slices.Contains(there, id) {
			continue
		}
		delete(r.heard, id)
		waiting.CompareAndDelete(id, r)
		if !h.answer.Final() && !h.met {
			back = append(back, h)
		}
	}
	return back
}

// read takes a request, if it is one to this job.
func (r *requests) read(ctx context.Context, id string) error {
	asked, err := r.files.ReadRequest(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case asked.Err != nil && asked.Passing:
		return asked.Err
	case asked.Err == nil && asked.Request.Job != r.job:
		return nil
	}
	h := &heard{Request: asked.Request, id: id, point: meetingPoint(r.core), answer: storage.Answer{State: storage.AnswerAsked}, write: true}
	var ask *demand.Demand
	switch before := asked.Answer; {
	case before != nil && before.Final(): // whoever wrote it was cut off
		h.answer = *before
	case asked.Err != nil:
		h.answer = storage.Answer{State: storage.AnswerFailed, Error: errorText(asked.Err)}
		r.rootLog.Warn("a request is refused", "request", id, "error", asked.Err)
	default:
		if before != nil {
			h.answer.Counted = before.Counted
		}
		ask = h.demand(time.Now())
		r.rootLog.Info("the job is asked by a file", "kind", h.Kind, "when", h.When(), "by", h.By, "request", id)
	}
	r.mu.Lock()
	r.heard[id] = h
	r.mu.Unlock()
	waiting.Store(id, r)
	if ask != nil {
		h.point.Ask(*ask)
	}
	return nil
}

// demand is what is to be asked for now; nil: nothing yet.
func (h *heard) demand(now time.Time) *demand.Demand {
	d := demand.Demand{ID: h.id, Source: "craft checkpoint", Left: demand.NoLimit}
	switch {
	case h.Kind == storage.RequestCheckpoint:
	case h.At != nil && h.At.After(now):
		h.answer.State = storage.AnswerWaiting
		d = h.plan(h.At.Sub(now))
	case h.AfterCheckpoints > h.answer.Counted:
		h.answer.State = storage.AnswerWaiting
		return nil
	default:
		d = h.end()
	}
	return &d
}

// end is the demand of a halt whose time has come. Nobody waits for its answer.
func (h *heard) end() demand.Demand {
	return demand.Demand{Cause: demand.Halt, Source: "craft halt by " + h.By, Left: demand.NoLimit}
}

// plan is that of one whose time is known. The source is its own: another halt is another plan.
func (h *heard) plan(left time.Duration) demand.Demand {
	return demand.Demand{Cause: demand.Halt, Planned: true, Source: fmt.Sprintf("craft halt by %s (%s)", h.By, h.id), Left: left}
}

// withdraw takes a plan back, if it was one.
func (h *heard) withdraw() {
	if h.At != nil {
		h.point.Ask(h.plan(demand.NoLimit))
	}
}

// counted is called on rank 0 when a version of this checkpoint is complete.
func (r *requests) counted() {
	var due []demand.Demand
	var points []*demand.Point
	r.mu.Lock()
	for _, h := range r.heard {
		if h.AfterCheckpoints == 0 || h.answer.State != storage.AnswerWaiting {
			continue
		}
		h.answer.Counted++
		h.write = true
		if h.answer.Counted >= h.AfterCheckpoints {
			h.answer.State = storage.AnswerAsked
			due, points = append(due, h.end()), append(points, h.point)
		}
	}
	r.mu.Unlock()
	for i, d := range due {
		points[i].Ask(d)
	}
	r.wakeUp()
}

// saved is called, on any rank, when a version that was demanded is safe: complete on all ranks, with
// the levels that it has reached below the home.
func (r *requests) saved(ids []string, h container.Header, levels storage.Levels) {
	answerAll(ids, r.stored(h, levels))
}

// failed is called, on any rank, when a version that was demanded is not stored, nor tried again.
func (r *requests) failed(ids []string, err error) {
	answerAll(ids, storage.Answer{State: storage.AnswerFailed, Error: errorText(err)})
}

// stored is the answer that names a version.
func (r *requests) stored(h container.Header, levels storage.Levels) storage.Answer {
	a := storage.Answer{
		State: storage.AnswerSaved, Checkpoint: h.Name, Version: h.Version, Attempt: hex.EncodeToString(h.Attempt[:]), Level: levelName(r.core, levels),
	}
	if h.Iteration != container.NoIteration {
		a.Iteration = &h.Iteration
	}
	return a
}

// levelName is where a version is safe that has levels below the home; none: it is at home.
func levelName(c *core, levels storage.Levels) string {
	if levels == 0 || c.placement == nil || !c.placement.OnNodes() {
		return storage.PFS.String()
	}
	return levels.String()
}

func answerAll(ids []string, a storage.Answer) {
	for _, id := range ids {
		if owner, ok := waiting.Load(id); ok {
			owner.(*requests).reply(id, a)
		}
	}
}

// reply sets the answer of a request that has none for good.
func (r *requests) reply(id string, a storage.Answer) {
	r.mu.Lock()
	if h := r.heard[id]; h != nil && !h.answer.Final() {
		h.answer, h.write = a, true
	}
	r.mu.Unlock()
	r.wakeUp()
}

// ended is called, on any rank, when the job has come to its end: h is the version that it has stored
// there, nil if it has none, and levels are where it is if it is not at home. When it returns nothing asks for that end any more, so that what is
// started next does not end at once.
func (r *requests) ended(cause demand.Cause, h *container.Header, levels storage.Levels) {
	answer := storage.Answer{State: storage.AnswerFailed, Error: fmt.Sprintf("the job has ended before (%v), and has stored no version there", cause)}
	if h != nil {
		answer = r.stored(*h, levels)
	}
	point, all := meetingPoint(r.core), make(map[*requests]bool)
	waiting.Range(func(_, owner any) bool {
		all[owner.(*requests)] = true
		return true
	})
	for owner := range all {
		owner.end(point, cause, answer)
	}
}

// end answers what was asked of a point.
func (r *requests) end(point *demand.Point, cause demand.Cause, answer storage.Answer) {
	r.mu.Lock()
	for _, h := range r.heard {
		switch {
		case h.point != point || h.answer.Final():
		case h.Kind == storage.RequestCheckpoint:
			h.answer, h.write = answer, true
		case cause == demand.Halt:
			h.met, h.write = true, true
		case h.answer.State == storage.AnswerAsked:
			h.met, h.write = true, true
			r.log.Warn("a halt came when the job was about to end: it may be started again by itself", "end", cause, "by", h.By, "request", h.id)
		}
	}
	r.mu.Unlock()
	r.writeAnswers()
}

func (r *requests) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// writeAnswers writes what has changed. What cannot be written is tried again at the next look.
func (r *requests) writeAnswers() {
	r.writing.Lock()
	defer r.writing.Unlock()
	var failed error
	due := r.takeDue()
	for _, h := range due {
		var err error
		if h.met {
			_, err = r.files.RemoveRequest(context.Background(), h.id)
		} else {
			h.answer.Format, h.answer.At = 1, time.Now().UTC()
			err = r.files.AnswerRequest(context.Background(), h.id, h.answer)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			r.again(h.id)
		}
	}
	if len(due) > 0 {
		r.tell(&r.cannotWrite, failed)
	}
}

// takeDue returns copies of the requests whose answers are to be written.
func (r *requests) takeDue() (due []heard) {
	if r.comm.Lease() != nil { // others may have declared this process dead
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.heard {
		if h.write {
			h.write = false
			due = append(due, *h)
		}
	}
	return due
}

func (r *requests) again(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.heard[id]; h != nil {
		h.write = true
	}
}

// tell logs the first of several errors in a row.
func (r *requests) tell(failing *bool, err error) {
	if err != nil && !*failing {
		r.log.Warn("what this job is asked for by files cannot be read or answered", "path", r.dir(), "error", err)
	}
	*failing = err != nil
}

// errorText is what an answer says of an error.
func errorText(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) > answerText {
		text = strings.ToValidUTF8(text[:answerText], "") + "..."
	}
	return text
}
