package recovery

import (
	"flag"
	"testing"

	"github.com/craft-go/craft/internal/testprogram"
)

var given config

func init() { given.register(flag.CommandLine) }

func BenchmarkRecovery(b *testing.B) { report(b, "recovery") }
func BenchmarkRestored(b *testing.B) { report(b, "restored") }
func BenchmarkMessages(b *testing.B) { report(b, "messages") }
func BenchmarkZone(b *testing.B)     { report(b, "zone") }

// report starts the program, and reports what it has measured.
func report(b *testing.B, what string) {
	var r result
	testprogram.New(b).JSON(&r, append(testprogram.Given(), "-what", what)...)
	for _, f := range r.Figures {
		b.Run(f.What, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			f.Report(b, f.Unit)
			if f.Rate > 0 {
				b.ReportMetric(f.Rate, "GB/s")
			}
		})
	}
}

// BenchmarkPlainStart starts as many processes of the program as an empty job has for its ranks, daemons and root, at once,
// and waits for their end. They do nothing.
func BenchmarkPlainStart(b *testing.B) {
	p := testprogram.New(b)
	for b.Loop() {
		plainStart(p, given.np+given.nodes+1)
	}
}

func plainStart(p *testprogram.Program, n int) {
	all := make([]*testprogram.Started, n)
	for i := range all {
		all[i] = p.Start("-what", "end")
	}
	for _, s := range all {
		s.End(0)
	}
}

// BenchmarkEmptyJob starts ranks, which have nothing to do, and waits for their end.
func BenchmarkEmptyJob(b *testing.B) {
	p := testprogram.New(b)
	for b.Loop() {
		p.Start(append(testprogram.Given(), "-what", "nothing")...).End(0)
	}
}
