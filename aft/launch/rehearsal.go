package launch

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// Rehearsal is the end of a job as a batch system brings it: it asks the job to end, and kills what
// is left when the grace (Config.Grace) is over. Run fills in what has happened.
type Rehearsal struct {
	// After is when the job is asked, from the start of Run.
	After time.Duration

	Grace time.Duration // as Config has it, or the environment
	Asked bool          // the job had not ended before
	Took  time.Duration // from then to its end
	// Taken: the ranks take SIGTERM for a request (checkpoint.OnSignal). Others were sent it.
	Taken bool
	// Killed are the ranks that had not ended when the grace was over.
	Killed []int
}

// rehearsalSource is who asks, for people.
const rehearsalSource = "rehearsal (--end-after)"

// rehearse has the job asked to end, and killed, until stop is called.
func (d *deployments) rehearse() (stop func()) {
	result := d.plan.Rehearsal
	if result == nil {
		return func() {}
	}
	result.Grace = d.plan.Grace
	over := make(chan struct{})
	var rehearsing sync.WaitGroup
	rehearsing.Go(func() {
		began := time.NewTimer(result.After)
		defer began.Stop()
		select {
		case <-began.C:
		case <-over:
			return
		}
		asked := time.Now()
		result.Asked = true
		r := d.ask(syscall.SIGTERM)
		r.askAs(rehearsalSource, d.plan.Grace)
		grace := time.NewTimer(d.plan.Grace)
		defer grace.Stop()
		select {
		case <-grace.C:
			result.Killed = d.ask(syscall.SIGTERM).killRest(d.plan.Grace)
			<-over
		case <-over:
		}
		result.Took = time.Since(asked)
		result.Taken = d.root.takes(syscall.SIGTERM) == demand.TakesEnd
	})
	return func() { close(over); rehearsing.Wait() }
}

// askAs asks the job to end, as SIGTERM does.
func (r *root) askAs(source string, grace time.Duration) {
	r.do(func(m *control.Root, now time.Time) []control.Action {
		if m.Takes(int(syscall.SIGTERM)) == demand.TakesEnd {
			return m.Ask(now, demand.Demand{Cause: demand.Deadline, Source: source, Left: grace})
		}
		return m.Forward(now, int(syscall.SIGTERM)) // a batch system does not ask what they do with it
	})
}

// killRest ends the job if it has not, and returns the ranks that had not ended.
func (r *root) killRest(grace time.Duration) (killed []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		return nil
	}
	for _, original := range r.machine.Running() {
		killed = append(killed, int(original))
	}
	r.stopNow(control.End{Code: 128 + int(syscall.SIGKILL), Report: fmt.Sprintf("%s: the ranks %s had not ended %v after they were asked to, and were killed",
		rehearsalSource, strings.Trim(fmt.Sprint(killed), "[]"), grace)})
	return killed
}
