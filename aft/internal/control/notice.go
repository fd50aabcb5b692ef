package control

import (
	"log/slog"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// notice takes a demand of a node, which says that it goes away.
func (d *demands) notice(now time.Time, n *node, asked demand.Demand) {
	level := slog.LevelInfo // of all but the first, which may be one for all nodes
	if d.notices == nil {
		level = slog.LevelWarn
		d.notices = make(map[*node]map[string]bool)
	}
	if d.notices[n] == nil {
		d.notices[n] = make(map[string]bool)
	}
	switch known := d.notices[n][asked.Source]; {
	case asked.Planned && asked.Left == demand.NoLimit:
		d.out.note(level, "a node is not to go away any more, as it says", "node", n.Name, "source", asked.Source)
	case !known:
		d.out.note(level, "a node is to go away: the job saves and ends before", "node", n.Name, "source", asked.Source, "left", asked.Left.Round(time.Second))
	}
	d.notices[n][asked.Source] = asked.Left != demand.NoLimit
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
