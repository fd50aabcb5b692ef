package aft

import (
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
)

// report tells of a recovery: the lowest surviving rank at large, the others for
// those who debug.
func (r *run) report(old, next *stretch, p Phases) {
	level := slog.LevelDebug
	if old.place.Comm.Rank() == firstSurvivor(next.change) {
		level = slog.LevelWarn
		for _, l := range next.change.Failed {
			r.log.Warn("a process has failed", "epoch", next.change.Epoch, "failed", int(l.Original), "failed_rank", int(l.Rank),
				"failed_node", l.Node, "reason", l.Reason)
		}
	}
	r.log.Log(r.ctx, level, "recovered", "epoch", next.change.Epoch, "policy", string(r.options.Recovery),
		"ranks", next.place.Comm.Size(), "failed", len(next.change.Failed), "replaced", len(next.change.Replaced),
		"rec", (p.CleanUp + p.Agree + p.Repair).Seconds(),
		"clean_up", p.CleanUp.Seconds(), "agree", p.Agree.Seconds(), "repair", p.Repair.Seconds(),
		"gather", next.change.Phases.Gather.Seconds(), "spawn", next.change.Phases.Spawn.Seconds(), "connect", next.change.Phases.Connect.Seconds())
}

// firstSurvivor is the lowest old rank whose process has survived; -1: none.
func firstSurvivor(c comm.Change) comm.Rank {
	lost := make(map[comm.Rank]bool)
	for _, l := range c.Failed {
		lost[l.Rank] = true
	}
	for old, now := range c.Ranks {
		if now >= 0 && !lost[comm.Rank(old)] {
			return comm.Rank(old)
		}
	}
	return -1
}
