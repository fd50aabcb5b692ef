package scale

import (
	"runtime"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// Result is what something has cost, from its begin until the last rank has its world.
type Result struct {
	Time    time.Duration // simulated
	In, Out Traffic       // of the root, without signs of life
	// Introductions are bytes from the root about newcomers and for them: where all processes are, and who is in
	// their first world.
	Introductions int
	Busy          time.Duration // the root's processor by the model, signs of life included
	Machine       time.Duration // what the root's machine has taken of the processor that simulates
	Told          time.Duration // until the root has told the first node of the failure
	Agreed        time.Duration // until all survivors had ended their bodies, and were told to repair
	Repaired      time.Duration // until the root began to tell of the new world
	Behind        time.Duration // how long the last bytes waited for the root's link at most
}

// Traffic are messages and their bytes.
type Traffic struct{ Messages, Bytes int }

// Outcome are the two parts of a job.
type Outcome struct {
	Start, Recovery Result
	Pulses          float64 // the part of the root's processor that signs of life take
}

// Run simulates a job: its start, and a failure.
func Run(c Config) (out Outcome, err error) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	s, err := newSim(c)
	if err != nil {
		return out, err
	}
	began := s.now
	s.root.event(s.now, 0, s.root.machine.Begin)
	if err := s.until(func() bool { return s.allHave(1) && s.begun == s.size() }); err != nil {
		return out, err
	}
	out.Start = s.result(began, 1)
	s.reset()
	calm := s.now.Add(quiet)
	s.put(calm, func() {})
	if err := s.until(func() bool { return !s.now.Before(calm) }); err != nil {
		return out, err
	}
	out.Pulses = s.root.busy.Seconds() / quiet.Seconds()
	s.reset()
	began = s.now
	s.fail()
	if err := s.until(func() bool { return s.allHave(2) }); err != nil {
		return out, err
	}
	out.Recovery = s.result(began, 2)
	return out, nil
}

func (s *sim) result(began time.Time, world int) Result {
	r := s.root
	return Result{
		Time: s.last[control.CommID(world)].Sub(began), In: Traffic{r.messagesIn, r.bytesIn}, Out: Traffic{r.messagesOut, r.bytesOut}, Introductions: r.introduction,
		Busy: r.busy, Machine: r.worked, Told: s.since(began, "failed"), Agreed: s.since(began, "made end"), Repaired: s.since(began, "made repair"),
		Behind: r.longestQueue,
	}
}

func (s *sim) since(began time.Time, step string) time.Duration {
	if at, ok := s.marks[step]; ok {
		return at.Sub(began)
	}
	return 0
}

// reset begins to count anew.
func (s *sim) reset() {
	r := s.root
	r.busy, r.worked, r.longestQueue = 0, 0, 0
	r.messagesIn, r.messagesOut, r.bytesIn, r.bytesOut, r.introduction, r.signs = 0, 0, 0, 0, 0, 0
	clear(s.marks)
}
