package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// logTable prints what go test -v shows, and docs/replica-scale.md has.
func logTable(t *testing.T, rows [][]string) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	require.NoError(t, w.Flush())
	t.Log("\n" + text.String())
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g", float64(d)/float64(time.Millisecond))
}

// VI-B2 and VI-D2: the model beside what the paper has measured. Its r = 1 without permutation is
// a copy on another node: here the second one of two.
func TestCostsBesideThePaper(t *testing.T) {
	load := func(p int) time.Duration { return paperCosts(t, Workload{Ranks: p, Copies: 4}).LoadShare(0.01).Time }
	buddy := paperCosts(t, Workload{Ranks: 1536, Copies: 2, Consecutive: true})
	permuted := paperCosts(t, Workload{Ranks: 1536, Copies: 1})
	across := paperCosts(t, Workload{Ranks: 1536, Copies: 2}) // what failed has a copy left
	rows := [][]string{{"operation", "paper, ms", "model, ms"}}
	for _, c := range []struct {
		name     string
		measured float64 // ms
		model    time.Duration
		factor   float64 // that the model may be off by
	}{
		{"r=4, load 1 %, 48 ranks", 0.65, load(48), 1.6},
		{"r=4, load 1 %, 6,144 ranks", 2.27, load(6144), 1.5},
		{"r=1, 1,536 ranks, submit", 126, buddy.Submit().Time, 1.25},
		{"... one rank's data to one", 21, buddy.LoadTo(3, 100).Time, 1.1},
		{"... scattered", 20, buddy.LoadScattered(3).Time, 1.5},
		{"permuted: submit", 215, permuted.Submit().Time, 2.5},
		{"... one rank's data to one", 15, across.LoadTo(3, 100).Time, 1.5},
		{"... scattered", 0.9, across.LoadScattered(3).Time, 1.5},
	} {
		rows = append(rows, []string{c.name, fmt.Sprint(c.measured), milliseconds(c.model)})
		got := float64(c.model) / float64(time.Millisecond)
		require.Less(t, got, c.measured*c.factor, c.name)
		require.Greater(t, got, c.measured/c.factor, c.name)
	}
	logTable(t, rows)
}

// numbersAlone leaves a test out that does one thing after the other, where -short asks for what the race
// detector can find.
func numbersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone")
	}
}

// thorough reports whether a test may take minutes: CRAFT_TEST_SECONDS=60.
func thorough(t *testing.T) bool { return testseed.Number(t, "CRAFT_TEST_SECONDS", 0) >= 60 }

// What the operations cost on up to as many ranks as the paper had; many of them if it may take long.
func TestCostsByScale(t *testing.T) {
	numbersAlone(t)
	rows := [][]string{{"ranks", "", "operation", "sent KiB", "received KiB", "messages sent", "received", "node out MiB", "ms"}}
	for _, p := range []int{48, 384, 1536, 6144, 24_576} {
		if p > 1536 && !thorough(t) {
			continue
		}
		for _, consecutive := range []bool{false, true} {
			c := paperCosts(t, Workload{Ranks: p, Copies: 4, Consecutive: consecutive})
			way := map[bool]string{false: "permuted", true: "consecutive"}[consecutive]
			for _, o := range []struct {
				name string
				cost Cost
			}{
				{"submit", c.Submit()}, {"load 1 %", c.LoadShare(0.01)}, {"load all", c.LoadAll()},
				{"rank to one", c.LoadTo(3, Seat(3+p/8))}, {"rank scattered", c.LoadScattered(3)}, {"repair a rank", c.Repair(3)},
			} {
				rows = append(rows, []string{
					fmt.Sprint(p), way, o.name, fmt.Sprint(o.cost.Sent >> 10), fmt.Sprint(o.cost.Received >> 10),
					fmt.Sprint(o.cost.MessagesSent), fmt.Sprint(o.cost.MessagesReceived), fmt.Sprint(o.cost.NodeSent >> 20), milliseconds(o.cost.Time),
				})
			}
		}
	}
	logTable(t, rows)
}

// Fig. 4a: small ranges cost messages, large ones leave the data with few senders; 256 KiB
// is near the best for load 1 %. Fig. 4b: a permutation pays for load 1 %, and not for load all.
func TestRangeSizes(t *testing.T) {
	numbersAlone(t)
	rows := [][]string{{"ranks", "range", "submit, ms", "load 1 %, ms"}}
	for _, sweep := range []struct{ ranks, smallest int }{{48, 256}, {1536, 16 << 10}, {6144, 256 << 10}} {
		p := sweep.ranks
		if p > 48 && !thorough(t) {
			continue
		}
		best, chosen, largest := time.Hour, time.Duration(0), time.Duration(0)
		var loads, submits []time.Duration
		for size := sweep.smallest; size <= paperBytes; size *= 4 {
			c := paperCosts(t, Workload{Ranks: p, Copies: 4, RangeBytes: size})
			load, submit := c.LoadShare(0.01).Time, c.Submit().Time
			loads, submits = append(loads, load), append(submits, submit)
			rows = append(rows, []string{fmt.Sprint(p), fmt.Sprint(size), milliseconds(submit), milliseconds(load)})
			best, largest = min(best, load), load
			if size == paperRange {
				chosen = load
			}
		}
		require.Less(t, chosen, best*2, "p=%d", p)
		if sweep.smallest < 1<<10 {
			require.Greater(t, loads[0], best*3/2)
			require.Greater(t, submits[0], slices.Min(submits)*3/2)
		}
		require.Greater(t, largest, 2*best, "p=%d", p)
		permuted, consecutive := paperCosts(t, Workload{Ranks: p, Copies: 4}), paperCosts(t, Workload{Ranks: p, Copies: 4, Consecutive: true})
		require.Less(t, permuted.LoadShare(0.01).Time, consecutive.LoadShare(0.01).Time/2)
		require.Less(t, permuted.LoadAll().MessagesReceived, int64(paperBytes/paperRange+1))
		require.Greater(t, permuted.LoadAll().MessagesReceived, consecutive.LoadAll().MessagesReceived)
	}
	logTable(t, rows)
}
