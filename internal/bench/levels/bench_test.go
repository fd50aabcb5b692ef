package levels

import (
	"flag"
	"testing"

	"github.com/craft-go/craft/internal/testprogram"
)

var given config

func init() { given.register(flag.CommandLine) }

// BenchmarkLevels measures all that the flags ask for in turn, and then reports it.
func BenchmarkLevels(b *testing.B) {
	var r result
	testprogram.New(b).JSON(&r, testprogram.Given()...)
	for _, f := range r.Figures {
		b.Run(f.What, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			f.Millis.Report(b, "ms")
			if f.ToLocal != nil {
				b.ReportMetric(f.ToLocal.Median, "%local")
			}
			if f.ToPlain != nil {
				b.ReportMetric(f.ToPlain.Median, "%plain")
			}
			if f.Bytes > 0 {
				b.ReportMetric(float64(f.Bytes)/(1<<20), "MiB")
			}
		})
	}
}
