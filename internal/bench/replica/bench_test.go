package replica

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/craft-go/craft/internal/bench/measured"
	"github.com/craft-go/craft/internal/testprogram"
)

// Flags of the benchmarks alone: what they start the program with, one after the other.
var (
	jobs    = flag.Int("jobs", 3, "how many jobs there are of each kind")
	ranges  = flag.String("ranges", "1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB", "with -bench Ranges: values of -range")
	degrees = flag.String("degrees", "2,4", "values of -copies")
)

var given config

func init() { given.register(flag.CommandLine) }

// ours are the flags on the command line that are the program's, too.
func ours() (args []string) {
	for _, a := range testprogram.Given() {
		if name, _, _ := strings.Cut(a, "="); name != "-jobs" && name != "-ranges" && name != "-degrees" {
			args = append(args, a)
		}
	}
	return args
}

// BenchmarkReplica measures submits, loads and files for each number of copies, with and without
// permutation.
func BenchmarkReplica(b *testing.B) {
	for copies := range strings.SplitSeq(*degrees, ",") {
		for _, placement := range []string{"permuted", "consecutive"} {
			args := []string{"-copies", copies, fmt.Sprintf("-consecutive=%v", placement == "consecutive")}
			report(b, fmt.Sprintf("r=%s %s/", copies, placement), measure(b, *jobs, append(ours(), args...)...))
		}
	}
}

// BenchmarkRanges measures the same, permuted, over sizes of ranges (paper, Figure 4).
func BenchmarkRanges(b *testing.B) {
	for copies := range strings.SplitSeq(*degrees, ",") {
		for each := range strings.SplitSeq(*ranges, ",") {
			report(b, fmt.Sprintf("r=%s ranges of %s/", copies, each), measure(b, *jobs, append(ours(), "-copies", copies, "-range", each)...))
		}
	}
}

// measure runs jobs and returns what all of them have measured.
func measure(t testing.TB, jobs int, args ...string) (all result) {
	t.Helper()
	for range jobs {
		var r result
		testprogram.New(t).JSON(&r, args...)
		all.merge(r)
	}
	return all
}

func report(b *testing.B, title string, r result) {
	for _, what := range r.Times.Order {
		b.Run(title+what, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			measured.IntervalOf(r.Times.Of[what]).Report(b, "ms")
			if ratio, ok := r.ratio(what); ok {
				ratio.Report(b, "%rival")
			}
		})
	}
	for _, what := range r.Counts.Order {
		b.Run(title+what, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(slices.Max(r.Counts.Of[what]), "most")
		})
	}
}
