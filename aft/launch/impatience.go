package launch

import "time"

// together is for how long signals that ask for the end count as one: what passes a signal on to
// its child and to the child's group (timeout), and then is in the way of one to all processes of a
// job, makes three of it. Nobody presses keys so fast.
const together = time.Second

// impatience counts how often somebody has asked for the end of a job.
type impatience struct {
	times int
	last  time.Time
}

// again counts one, and returns how many there are with it; 0: it belongs to the last one.
func (i *impatience) again(now time.Time) int {
	if i.times > 0 && now.Sub(i.last) < together {
		return 0
	}
	i.times++
	i.last = now
	return i.times
}
