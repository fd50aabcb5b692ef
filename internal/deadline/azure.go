package deadline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// azure is a machine of Microsoft's cloud, whose events come half a minute (a spot machine) to
// many minutes before. A machine is told those of its whole group: it has to know its name.
type azure struct {
	noticeClock
	metadata
	patience time.Duration // once the service has answered
	self     string
	known    map[string]memo // by the name of the event; nil: it has not answered yet
}

const (
	azureEventsPath = "/metadata/scheduledevents?api-version=2020-07-01"
	azureNamePath   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
)

// azureEnds are the events that a process does not outlive; a machine that is frozen for some
// seconds goes on.
var azureEnds = []string{"Preempt", "Terminate", "Reboot", "Redeploy"}

type azureEvent struct {
	EventId, EventType, NotBefore string
	Resources                     []string
}

// azureFirstTimeout is how long the first answer may take: events are switched on by asking for
// them, which takes up to two minutes.
const azureFirstTimeout = 150 * time.Second

func (a *azure) ask(ctx context.Context) (*answer, error) {
	if a.known != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.patience)
		defer cancel()
	}
	if err := a.learnName(ctx); err != nil {
		return nil, err
	}
	seen := time.Now()
	r, err := a.do(ctx, http.MethodGet, azureEventsPath, "Metadata", "true")
	if err != nil {
		return nil, err
	}
	var events struct{ Events []azureEvent }
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &events) != nil {
		return nil, a.unexpected(azureEventsPath, r)
	}
	earliest, known, unclear := time.Time{}, make(map[string]memo), error(nil)
	for _, e := range events.Events {
		if !slices.Contains(azureEnds, e.EventType) || !slices.ContainsFunc(e.Resources, a.isSelf) {
			continue
		}
		m, err := a.noted(e, seen)
		known[e.EventId], unclear = m, errors.Join(unclear, err)
		if earliest.IsZero() || m.when.Before(earliest) {
			earliest = m.when
		}
	}
	a.known = known
	if earliest.IsZero() {
		return none, nil
	}
	return &answer{at: earliest, by: a.name}, unclear
}

func (a *azure) learnName(ctx context.Context) error {
	if a.self != "" {
		return nil
	}
	r, err := a.do(ctx, http.MethodGet, azureNamePath, "Metadata", "true")
	if err != nil {
		return err
	}
	name := strings.TrimSpace(r.body)
	if r.status != http.StatusOK || name == "" {
		return a.unexpected(azureNamePath, r)
	}
	a.self = name
	return nil
}

func (a *azure) isSelf(resource string) bool { return strings.EqualFold(resource, a.self) }

// noted is when an event comes. One without a time has begun: that leaves the grace, but no more
// than was left by the time that it had before.
func (a *azure) noted(e azureEvent, seen time.Time) (memo, error) {
	m, was := a.known[e.EventId]
	before := m.when
	t, err := http.ParseTime(e.NotBefore)
	switch {
	case err == nil:
		m.at(e.NotBefore, func() time.Time { return a.clock.at(t) })
		return m, nil
	case e.NotBefore != "":
		err = fmt.Errorf("the event %s (%s) is not before %.60q, which is no time: %v are left (CRAFT_GRACE)", e.EventId, e.EventType, e.NotBefore, a.grace)
	default:
		err = nil
	}
	if at := m.at(e.NotBefore, func() time.Time { return seen.Add(a.grace) }); was && before.Before(at) {
		m.when = before
	}
	return m, err
}
