package deadline

import (
	"testing"
	"time"
	_ "time/tzdata" // machines of tests may have no zones

	"github.com/stretchr/testify/require"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

// parseUTC reads a time with its zone, for tables.
func parseUTC(t *testing.T, text string) time.Time {
	t.Helper()
	u, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return u
}

// TestMomentsWithADate: in Berlin the clocks go from 2:00 to 3:00 on March 29th, 2026, and from 3:00
// back to 2:00 on October 25th; Samoa had no December 30th, 2011.
func TestMomentsWithADate(t *testing.T) {
	for _, c := range []struct{ zone, now, text, want string }{
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01 18:30", "2026-07-01T16:30:00Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01 18:30:15", "2026-07-01T16:30:15Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01T18:30:15", "2026-07-01T16:30:15Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01T18:30", "2026-07-01T16:30:00Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01T18:30:15Z", "2026-07-01T18:30:15Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-07-01T18:30:15-05:00", "2026-07-01T23:30:15Z"},
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2026-12-01 18:30", "2026-12-01T17:30:00Z"}, // winter, seen from summer
		{"Europe/Berlin", "2026-07-01T10:00:00Z", "2025-12-01 18:30", "2025-12-01T17:30:00Z"}, // passed
		{"America/New_York", "2026-07-01T10:00:00Z", "2026-07-01 18:30", "2026-07-01T22:30:00Z"},
		{"Asia/Kolkata", "2026-07-01T10:00:00Z", "2026-07-01 18:30", "2026-07-01T13:00:00Z"},
		{"UTC", "2026-07-01T10:00:00Z", " 2026-07-01 18:30 \n", "2026-07-01T18:30:00Z"},

		{"Europe/Berlin", "2026-03-28T10:00:00Z", "2026-03-29 01:59:59", "2026-03-29T00:59:59Z"},
		{"Europe/Berlin", "2026-03-28T10:00:00Z", "2026-03-29 02:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-28T10:00:00Z", "2026-03-29 02:30", "2026-03-29T01:00:00Z"}, // left out: the jump
		{"Europe/Berlin", "2026-03-28T10:00:00Z", "2026-03-29 03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-24T10:00:00Z", "2026-10-25 02:30", "2026-10-25T00:30:00Z"}, // twice: the first
		{"Europe/Berlin", "2026-10-25T00:40:00Z", "2026-10-25 02:30", "2026-10-25T01:30:00Z"}, // which is over
		{"Europe/Berlin", "2026-10-25T09:00:00Z", "2026-10-25 02:30", "2026-10-25T01:30:00Z"}, // both are
		{"America/New_York", "2026-10-31T10:00:00Z", "2026-11-01 01:30", "2026-11-01T05:30:00Z"},
		{"America/New_York", "2026-03-07T10:00:00Z", "2026-03-08 02:30", "2026-03-08T07:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T10:00:00Z", "2026-04-05 01:45", "2026-04-04T14:45:00Z"}, // half an hour twice
		{"Pacific/Apia", "2011-12-29T10:00:00Z", "2011-12-30 12:00", "2011-12-30T10:00:00Z"},
	} {
		z := zone(t, c.zone)
		m, ok := parseMoment(c.text, parseUTC(t, c.now).In(z))
		require.True(t, ok, "%+v", c)
		require.Equal(t, c.want, m.time.UTC().Format(time.RFC3339), "%+v", c)
	}
}

// TestMomentsWithoutADate are the next ones.
func TestMomentsWithoutADate(t *testing.T) {
	for _, c := range []struct{ zone, now, text, want string }{
		{"UTC", "2026-07-01T10:00:00Z", "18:30", "2026-07-01T18:30:00Z"},
		{"UTC", "2026-07-01T10:00:00Z", "9:30", "2026-07-02T09:30:00Z"},
		{"UTC", "2026-07-01T10:00:00Z", "10:00", "2026-07-02T10:00:00Z"}, // now is not next
		{"UTC", "2026-07-01T10:00:00Z", "10:00:01", "2026-07-01T10:00:01Z"},
		{"UTC", "2026-12-31T23:00:00Z", "00:15", "2027-01-01T00:15:00Z"},
		{"Europe/Berlin", "2026-07-01T22:30:00Z", "01:00", "2026-07-01T23:00:00Z"}, // July 2nd there
		{"Asia/Tokyo", "2026-07-01T16:00:00Z", "00:30", "2026-07-02T15:30:00Z"},
		{"Europe/Berlin", "2026-03-28T22:00:00Z", "02:30", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "02:30", "2026-03-30T00:30:00Z"}, // at the jump
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "02:30", "2026-10-25T01:30:00Z"}, // again in an hour
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "02:30", "2026-10-26T01:30:00Z"},
	} {
		z := zone(t, c.zone)
		m, ok := parseMoment(c.text, parseUTC(t, c.now).In(z))
		require.True(t, ok, "%+v", c)
		require.Equal(t, c.want, m.time.UTC().Format(time.RFC3339), "%+v", c)
	}
}

func TestTimesLeft(t *testing.T) {
	now := time.Now()
	for text, want := range map[string]time.Duration{"+1h": time.Hour, "+90s": 90 * time.Second, "+1h30m": 90 * time.Minute, "+0s": 0, "+1.5s": 1500 * time.Millisecond} {
		m, ok := parseMoment(text, now)
		require.True(t, ok, text)
		require.Equal(t, moment{left: want}, m, text)
		m, ok = parseNoticed(text[1:], now)
		require.True(t, ok, text)
		require.Equal(t, moment{left: want}, m, text)
	}
}

func TestWhatIsNoMoment(t *testing.T) {
	for _, text := range []string{"", "1h", "90", "+", "+1", "+-1h", "++1h", "-1h", "25:00", "12:60", "noon", "2026-13-01 10:00", "2026-02-30 10:00", "2026-07-01", "01.07.2026 10:00", "2026-07-01 10:00 CET"} {
		_, ok := parseMoment(text, time.Now())
		require.False(t, ok, text)
	}
	for _, text := range []string{"-2m", "2", "preempted"} {
		_, ok := parseNoticed(text, time.Now())
		require.False(t, ok, text)
	}
}

// TestEveryReading: what clocks show is read as a moment at which they show it, all through the
// days on which they are changed, of zones with changes of 30 minutes, an hour and a day.
func TestEveryReading(t *testing.T) {
	for _, c := range []struct{ zone, from string }{
		{"Europe/Berlin", "2026-03-28T00:00:00Z"}, {"Europe/Berlin", "2026-10-24T00:00:00Z"},
		{"America/New_York", "2026-03-07T12:00:00Z"}, {"America/New_York", "2026-10-31T12:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T00:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T00:00:00Z"},
		{"Pacific/Apia", "2011-12-29T12:00:00Z"}, {"Asia/Kathmandu", "2026-01-01T00:00:00Z"},
	} {
		z := zone(t, c.zone)
		for i := range 2 * 24 * 4 {
			u := parseUTC(t, c.from).Add(time.Duration(i) * 15 * time.Minute)
			_, offset := u.In(z).Zone()
			shown := u.Add(time.Duration(offset) * time.Second)
			found := false
			for _, r := range readings(shown, z) {
				found = found || r.Equal(u)
			}
			require.True(t, found, "%s: %v", c.zone, u.In(z))
		}
	}
}
