package aft

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/craft-go/craft/aft/comm"
)

// report tells of a recovery: the lowest surviving rank at large, the others for
// those who debug.
func (r *run) report(old, next *epochScope, p Phases) {
	c, level := *next.place.Change, slog.LevelDebug
	if old.place.Comm.Rank() == firstSurvivor(c) {
		level = slog.LevelWarn
	}
	r.log.Log(r.ctx, level, "recovered", "epoch", c.Epoch, "policy", string(r.options.Recovery),
		"ranks", next.place.Comm.Size(), "failed", len(c.Failed), "losses", losses(c.Failed), "replaced", len(c.Replaced),
		"rec", (p.CleanUp + p.Agree + p.Repair).Seconds(),
		"clean_up", p.CleanUp.Seconds(), "agree", p.Agree.Seconds(), "repair", p.Repair.Seconds(),
		"gather", c.Phases.Gather.Seconds(), "spawn", c.Phases.Spawn.Seconds(), "connect", c.Phases.Connect.Seconds())
}

// losses are who has failed, and why. A launcher has told of each when it happened.
func losses(failed []comm.Loss) string {
	const most = 8
	var list []string
	for _, l := range failed[:min(len(failed), most)] {
		list = append(list, fmt.Sprintf("rank %d on node %d: %s", l.Original, l.Node, l.Reason))
	}
	if more := len(failed) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
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
