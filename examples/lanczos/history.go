package main

import "time"

// history is what happened to the job before and in this run.
type history struct {
	restartedFrom int           // first iteration of this run after a restart, or -1
	first         int           // first iteration of this run
	redo          time.Duration // spent on iterations that an earlier run had done
	lost          int           // last iteration that an earlier run is known to have done, or -1
	began         time.Time
}

func newHistory(first int, restored bool, lost int) history {
	h := history{restartedFrom: -1, first: first, lost: lost, began: time.Now()}
	if restored {
		h.restartedFrom = first
	}
	return h
}

// completed is called when an iteration has ended.
func (h *history) completed(iter int) {
	if iter <= h.lost {
		h.redo = time.Since(h.began)
	}
}
