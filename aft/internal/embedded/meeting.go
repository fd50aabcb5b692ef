package embedded

import (
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// uplink is the way from an endpoint's calls to the root of its job.
type uplink struct{ ep *endpoint }

var _ demand.Uplink = uplink{}

func (u uplink) Ask(d demand.Demand) {
	u.ep.up(control.Message{Kind: control.KindAsk, Ask: &d})
}

func (u uplink) Passed(p demand.Passed) {
	u.ep.up(control.Message{Kind: control.KindPassed, Passed: &control.Passed{Passed: p}})
}

// meet takes what the root has decided about a demand. It waits for nobody: the program's calls do.
func (e *endpoint) meet(m control.Message) {
	if m.Kind == control.KindHold {
		e.point.Hold(time.Now(), *m.Hold)
		return
	}
	e.point.Meet(*m.Meet)
}

// renew has calls counted anew if a generation begins with an outcome: the first communicator, a repair, the end of a zone.
func (e *endpoint) renew(m control.Made) {
	switch {
	case m.New != nil && (m.Op == control.OpRepair || m.Op == control.OpSpawn):
		e.point.Renew(true)
	case m.Op == "", m.Op == control.OpEnd && m.Outcome != nil && !m.Outcome.Repair:
		e.point.Renew(false)
	}
}

// takes is what this program does with signals.
func takes() []control.Take {
	var list []control.Take
	taken := demand.This.Taken()
	for _, number := range slices.Sorted(maps.Keys(taken)) {
		list = append(list, control.Take{Signal: number, Takes: taken[number]})
	}
	return list
}

// Point implements driver.Meeter.
func (s *session) Point() *demand.Point { return s.ep.point }

// Point implements driver.Meeter.
func (c *communicator) Point() *demand.Point { return c.box.ep.point }
