package exchange

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// TestMain: the test binary is also the daemons and the ranks of the jobs of
// benchmarks. The arguments of a rank are the name of a move, the size of its
// pieces and how often it is measured.
func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if launch.IsRank() {
		if err := rankOfBenchmark(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rankOfBenchmark measures on rank 0 and prints the nanoseconds.
func rankOfBenchmark(args []string) error {
	piece, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		took, err := measure(ctx, z.Comm(), moves[args[0]], piece, times)
		if err == nil && z.Comm().Rank() == 0 {
			fmt.Println(took.Nanoseconds())
		}
		return err
	}, aft.WithLogger(log))
}

// measure does something once, and then as often as is asked for.
func measure(ctx context.Context, c *comm.Comm, m move, piece, times int) (time.Duration, error) {
	s := New(ctx, c, vacuum{benchSize}, Options{})
	defer func() { _ = s.Close(ctx) }()
	if c.Rank() != 0 {
		return 0, nil
	}
	buf := make([]byte, piece)
	start := time.Now()
	for i := range times + 1 {
		if i == 1 { // without the first touch of everything
			start = time.Now()
		}
		if err := m(ctx, s, buf); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// BenchmarkProcesses is BenchmarkRanks between two processes.
func BenchmarkProcesses(b *testing.B) {
	eachMove(b, func(b *testing.B, name string, _ move, piece int) {
		var out, problems bytes.Buffer
		_, err := launch.Run(b.Context(), launch.Config{
			Program: os.Args[0], Args: []string{name, strconv.Itoa(piece), strconv.Itoa(b.N)}, Ranks: 2,
			Stdout: &out, Stderr: &problems, NoSignals: true,
		})
		require.NoError(b, err, problems.String())
		took, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
		require.NoError(b, err)
		b.ReportMetric(took/float64(b.N), "ns/op")
		b.ReportMetric(benchSize*float64(b.N)/took*1e3, "MB/s")
	})
}
