package exchange

import "sync"

// queue does one thing after the other, in a goroutine that there is as long as there is
// something to do. Who waits for messages costs time: a rank that has a processor to itself
// looks for them all the while.
type queue struct {
	mu   sync.Mutex
	jobs []func()
}

func (q *queue) add(g *sync.WaitGroup, job func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs = append(q.jobs, job); len(q.jobs) == 1 {
		g.Go(func() { q.run(job) })
	}
}

func (q *queue) run(job func()) {
	for ; job != nil; job = q.next() {
		job()
	}
}

// next forgets what has been done.
func (q *queue) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs = q.jobs[1:]; len(q.jobs) == 0 {
		return nil
	}
	return q.jobs[0]
}
