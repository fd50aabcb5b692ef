package deadline

import (
	"slices"
	"strings"
	"time"
)

// moment is how people and programs say when: a time, or how much time is left.
type moment struct {
	time time.Time // zero: left counts
	left time.Duration
}

// parseMoment reads a value of CRAFT_DEADLINE: +1h, RFC 3339, or a time of the zone of now,
// 2006-01-02 15:04[:05], or without a date: the next such time.
func parseMoment(text string, now time.Time) (moment, bool) {
	text = strings.TrimSpace(text)
	if left, ok := strings.CutPrefix(text, "+"); ok {
		return parseLeft(left)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment{time: t}, true
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return moment{time: firstAfter(readings(t, now.Location()), now)}, true
		}
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return moment{time: nextReading(t, now)}, true
		}
	}
	return moment{}, false
}

// parseNoticed reads what a notice says, which may be a time left without a sign, too.
func parseNoticed(text string, now time.Time) (moment, bool) {
	if m, ok := parseLeft(strings.TrimSpace(text)); ok {
		return m, true
	}
	return parseMoment(text, now)
}

func parseLeft(text string) (moment, bool) {
	left, err := time.ParseDuration(text)
	return moment{left: left}, err == nil && !strings.ContainsAny(text, "+-")
}

// nextReading is when clocks show the hour, minute and second of t for the first time after now.
func nextReading(t, now time.Time) time.Time {
	year, month, day := now.Date()
	for ; ; day++ {
		on := time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
		if next := firstAfter(readings(on, now.Location()), now); next.After(now) {
			return next
		}
	}
}

// firstAfter is the first of the times that is after now, or the last if none is: what is said of
// an end in the hour that clocks repeat is not over until it is over twice.
func firstAfter(times []time.Time, now time.Time) time.Time {
	i := slices.IndexFunc(times, func(t time.Time) bool { return t.After(now) })
	if i < 0 {
		i = len(times) - 1
	}
	return times[i]
}

// readings are the times at which clocks in the zone show what t shows in UTC, in their order:
// two in the hour that is repeated when the clocks go back. In the hour that is left out when
// they go forward it is the moment of that.
func readings(t time.Time, zone *time.Location) []time.Time {
	var out []time.Time
	before := shifted(t, zone, -24*time.Hour)
	for _, u := range []time.Time{before, shifted(t, zone, 24*time.Hour)} {
		_, offset := u.Zone()
		if u.Add(time.Duration(offset)*time.Second).Equal(t) && !slices.ContainsFunc(out, u.Equal) {
			out = append(out, u)
		}
	}
	if len(out) == 0 {
		jump, _ := before.ZoneBounds()
		return []time.Time{jump}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// shifted reads t as the clocks of the zone went so much earlier or later.
func shifted(t time.Time, zone *time.Location, by time.Duration) time.Time {
	_, offset := t.Add(by).In(zone).Zone()
	return t.Add(-time.Duration(offset) * time.Second).In(zone)
}
