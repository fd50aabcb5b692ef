package control

import (
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// notice takes a demand of a node, which says that it goes away.
func (d *demands) notice(now time.Time, n *node, asked demand.Demand) {
	if asked.Planned {
		if d.notices == nil {
			d.notices = make(map[*node]map[string]bool)
		}
		if d.notices[n] == nil {
			d.notices[n] = make(map[string]bool)
		}
		d.notices[n][asked.Source] = true
	}
	d.ask(now, asked)
}

// dropNotices: a job goes on without the nodes that it has lost, however they had planned to go.
func (d *demands) dropNotices(now time.Time) {
	for n, sources := range d.notices {
		if !n.lost {
			continue
		}
		for source := range sources {
			d.ask(now, demand.Demand{Cause: demand.Deadline, Source: source, Left: demand.NoLimit, Planned: true})
		}
		delete(d.notices, n)
	}
}
