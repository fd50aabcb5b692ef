package scale

import (
	"container/heap"
	"time"
)

// queue are events to come: of those at the same time the one that was put in first is next.
type queue struct {
	list []event
	seq  uint64
}

type event struct {
	at  time.Time
	seq uint64
	do  func()
}

func (q *queue) put(at time.Time, do func()) {
	q.seq++
	heap.Push((*byTime)(&q.list), event{at, q.seq, do})
}

func (q *queue) next() event { return heap.Pop((*byTime)(&q.list)).(event) }

type byTime []event

func (l byTime) Len() int { return len(l) }
func (l byTime) Less(i, j int) bool {
	return l[i].at.Before(l[j].at) || l[i].at.Equal(l[j].at) && l[i].seq < l[j].seq
}
func (l byTime) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *byTime) Push(e any)   { *l = append(*l, e.(event)) }
func (l *byTime) Pop() any {
	last := len(*l) - 1
	e := (*l)[last]
	(*l)[last], *l = event{}, (*l)[:last]
	return e
}
