//go:build linux

package checkpoint

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// The benchmarks compare with the plainest program that does the same: each
// round runs one after the other, and the medians of both and of their ratio
// are reported (docs/performance.md has the commands).
//
//	CRAFT_TEST_BENCH_MIB   data of the large ones (1024)
//	CRAFT_TEST_BENCH_DISK  a directory on disk (the temporary directory)

// pairs collects the rounds of two rivals.
type pairs struct {
	plain, craft, ratio []float64
}

func (p *pairs) add(plain, craft time.Duration) {
	p.plain = append(p.plain, plain.Seconds()*1e3)
	p.craft = append(p.craft, craft.Seconds()*1e3)
	p.ratio = append(p.ratio, plain.Seconds()/craft.Seconds())
}

func (p *pairs) report(b *testing.B) {
	for _, s := range [][]float64{p.plain, p.craft, p.ratio} {
		slices.Sort(s)
	}
	n := len(p.ratio)
	b.ReportMetric(p.plain[n/2], "plain-ms")
	b.ReportMetric(p.craft[n/2], "craft-ms")
	b.ReportMetric(100*p.ratio[n/2], "%of-plain")
	b.ReportMetric(100*p.ratio[n/4], "%of-plain-q1")
	b.ReportMetric(100*p.ratio[3*n/4], "%of-plain-q3")
	b.ReportMetric(0, "ns/op")
}

func timed(b *testing.B, f func() error) time.Duration {
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func benchBytes() int {
	if text := os.Getenv("CRAFT_TEST_BENCH_MIB"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			return n << 20
		}
	}
	return 1 << 30
}

// places are where the benchmarks write: memory and disk.
func places(b *testing.B, run func(b *testing.B, dir, sync string)) {
	disk := os.Getenv("CRAFT_TEST_BENCH_DISK")
	if disk == "" {
		disk = os.TempDir()
	}
	for _, place := range []struct{ name, dir, sync string }{{"memory", "/dev/shm", "none"}, {"disk", disk, "full"}} {
		dir, err := os.MkdirTemp(place.dir, "craft-bench-*")
		if err != nil {
			b.Skip(err)
		}
		b.Run(place.name, func(b *testing.B) { run(b, dir, place.sync) })
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	}
}

// randomValues are n slices of float64 with bytes in all.
func randomValues(bytes, n int) [][]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([][]float64, n)
	for i := range values {
		values[i] = make([]float64, bytes/8/n)
		for j := range values[i] {
			values[i][j] = rng.Float64()
		}
	}
	return values
}

func benchCheckpoint(b *testing.B, dir, sync string, values [][]float64, opts ...Option) *Checkpoint {
	cp, err := New("bench", nil, append([]Option{WithPath(dir), WithSync(Sync(sync)), WithKeep(1 << 30), WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	for i := range values {
		_ = cp.Add(fmt.Sprint("value-", i), &values[i])
	}
	if err := cp.Commit(); err != nil {
		b.Fatal(err)
	}
	return cp
}

// clean deletes the versions, as retention would, outside of the measurement.
func clean(b *testing.B, dir string) {
	versions, _ := filepath.Glob(filepath.Join(dir, "bench", "v-*"))
	for _, v := range versions {
		if err := os.RemoveAll(v); err != nil {
			b.Fatal(err)
		}
	}
}

// plainWrite is a loop of large write calls, with fsync if sync is "full".
func plainWrite(name, sync string, values [][]float64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range values {
		bytes := bytesOf(values[i])
		for len(bytes) > 0 {
			n := min(len(bytes), 4<<20)
			if _, err := f.Write(bytes[:n]); err != nil {
				return err
			}
			bytes = bytes[n:]
		}
	}
	if sync == "full" {
		return f.Sync()
	}
	return nil
}

func BenchmarkWriteVersion(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint("values=", n), func(b *testing.B) {
			places(b, func(b *testing.B, dir, sync string) {
				values := randomValues(benchBytes(), n)
				cp := benchCheckpoint(b, dir, sync, values)
				defer cp.Close()
				plain := filepath.Join(dir, "plain")
				if err := cp.Write(b.Context()); err != nil { // buffers are made once
					b.Fatal(err)
				}
				clean(b, dir)
				var p pairs
				for b.Loop() {
					t1 := timed(b, func() error { return plainWrite(plain, sync, values) })
					if err := os.Remove(plain); err != nil {
						b.Fatal(err)
					}
					t2 := timed(b, func() error { return cp.Write(b.Context()) })
					clean(b, dir)
					p.add(t1, t2)
				}
				p.report(b)
			})
		})
	}
}

// BenchmarkWriteVersionDD compares with dd, on disk.
func BenchmarkWriteVersionDD(b *testing.B) {
	source, err := os.CreateTemp("/dev/shm", "craft-bench-source-*")
	if err != nil {
		b.Skip(err)
	}
	defer os.Remove(source.Name())
	values := randomValues(benchBytes(), 1)
	if err := plainWrite(source.Name(), "none", values); err != nil {
		b.Fatal(err)
	}
	places(b, func(b *testing.B, dir, sync string) {
		if sync != "full" {
			b.Skip("on disk only")
		}
		cp := benchCheckpoint(b, dir, sync, values)
		defer cp.Close()
		target := filepath.Join(dir, "dd")
		var p pairs
		for b.Loop() {
			t1 := timed(b, func() error {
				return exec.CommandContext(b.Context(), "dd", "if="+source.Name(), "of="+target, "bs=4M", "conv=fsync", "status=none").Run()
			})
			if err := os.Remove(target); err != nil {
				b.Fatal(err)
			}
			t2 := timed(b, func() error { return cp.Write(b.Context()) })
			clean(b, dir)
			p.add(t1, t2)
		}
		p.report(b)
	})
}

func BenchmarkRestore(b *testing.B) {
	places(b, func(b *testing.B, dir, sync string) {
		values := randomValues(benchBytes(), 1)
		cp := benchCheckpoint(b, dir, sync, values)
		if err := cp.Write(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := cp.Close(); err != nil {
			b.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "bench", "v-*", "*.craft"))
		var p pairs
		for b.Loop() {
			t1 := timed(b, func() error { return plainRead(files[0], bytesOf(values[0])) })
			cp := benchCheckpoint(b, dir, sync, values)
			t2 := timed(b, func() error { return cp.RestartIfNeeded(context.Background(), nil) })
			if err := cp.Close(); err != nil {
				b.Fatal(err)
			}
			p.add(t1, t2)
		}
		p.report(b)
	})
}

func plainRead(name string, into []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(into) > 0 {
		n, err := f.Read(into[:min(len(into), 4<<20)])
		if err != nil {
			return err
		}
		into = into[n:]
	}
	return nil
}

// BenchmarkScalars writes versions of 1,000 scalars, with retention at work,
// and single files of the same size.
func BenchmarkScalars(b *testing.B) {
	places(b, func(b *testing.B, dir, sync string) {
		values := make([]float64, 1000)
		cp, err := New("bench", nil, WithPath(dir), WithSync(Sync(sync)), WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			b.Fatal(err)
		}
		defer cp.Close()
		for i := range values {
			_ = cp.Add(fmt.Sprint("value-", i), &values[i])
		}
		if err := cp.Commit(); err != nil {
			b.Fatal(err)
		}
		for range 3 {
			if err := cp.Write(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		data := make([]byte, cp.Stats().BytesWritten/3)
		var p pairs
		for b.Loop() {
			t1 := timed(b, func() error { return singleFile(filepath.Join(dir, "single"), sync, data) })
			t2 := timed(b, func() error { return cp.Write(b.Context()) })
			p.add(t1, t2)
		}
		p.report(b)
	})
}

// singleFile is the write of one file that a crash does not tear.
func singleFile(name, sync string, data []byte) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if sync == "full" {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil || sync != "full" {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func bytesOf(v []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

// BenchmarkFourRanks writes versions of 4 ranks with 64 MiB each, the setting
// in which the original library and FTI were measured.
func BenchmarkFourRanks(b *testing.B) {
	places(b, func(b *testing.B, dir, sync string) {
		var times []float64
		err := afttest.Run(b.Context(), 4, func(ctx context.Context, c *comm.Comm) error {
			values := randomValues(64<<20, 1)
			cp, err := New("four", c, WithPath(dir), WithSync(Sync(sync)), WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				return err
			}
			defer cp.Close()
			_ = cp.Add("v", &values[0])
			if err := cp.Commit(); err != nil {
				return err
			}
			for i := range b.N + 1 { // the first one makes the buffers
				if err := comm.Barrier(ctx, c); err != nil {
					return err
				}
				start := time.Now()
				if err := cp.Write(ctx); err != nil { // ends when all ranks have written
					return err
				}
				if i > 0 && c.Rank() == 0 {
					times = append(times, time.Since(start).Seconds()*1e3)
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		slices.Sort(times)
		b.ReportMetric(times[len(times)/2], "craft-ms")
		b.ReportMetric(times[len(times)/4], "craft-ms-q1")
		b.ReportMetric(times[3*len(times)/4], "craft-ms-q3")
		b.ReportMetric(0, "ns/op")
	})
}
