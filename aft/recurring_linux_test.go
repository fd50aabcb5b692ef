package aft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/stepwise"
)

// usage is what a process has of what it may not have more and more of.
type usage struct {
	Descriptors, Memfds, Mappings, Threads int
	Resident                               int64
	Goroutines                             int   // of those that tell
	Heap                                   int64 // the same, after a collection, without what is kept for reuse
}

// usageOf looks from outside.
func usageOf(pid int) (u usage, err error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	open, err := os.ReadDir(proc + "fd")
	if err != nil {
		return u, err
	}
	for _, fd := range open {
		u.Descriptors++
		if target, err := os.Readlink(proc + "fd/" + fd.Name()); err == nil && strings.HasPrefix(target, "/memfd:") {
			u.Memfds++
		}
	}
	maps, err := os.ReadFile(proc + "maps")
	if err != nil {
		return u, err
	}
	u.Mappings = strings.Count(string(maps), "\n")
	status, err := os.ReadFile(proc + "status")
	for line := range strings.Lines(string(status)) {
		switch fields := strings.Fields(line); fields[0] {
		case "Threads:":
			u.Threads, _ = strconv.Atoi(fields[1])
		case "VmRSS:":
			u.Resident, _ = strconv.ParseInt(fields[1], 10, 64)
			u.Resident <<= 10
		}
	}
	return u, err
}

// ownUsage is that of this process.
func ownUsage() (u usage, err error) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what has a finalizer goes with the second one
	runtime.ReadMemStats(&m)
	u, err = usageOf(os.Getpid())
	u.Goroutines, u.Heap = runtime.NumGoroutine(), int64(m.HeapAlloc)-reusable()
	return u, err
}

// reusable are the bytes of buffers that are kept for the next streams: a few of them, as many as were in use at once,
// which is a matter of time. It needs recurringProfile.
func reusable() (bytes int64) {
	records := make([]runtime.MemProfileRecord, 10_000)
	n, ok := runtime.MemProfile(records, false)
	if !ok {
		panic(fmt.Sprint("more than ", len(records), " places that allocate"))
	}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, "/exchange.(*bufferPool).get") {
				bytes += r.InUseBytes()
				break
			}
		}
	}
	return bytes
}

// recurringProfile has all allocations profiled.
const recurringProfile = "GODEBUG=memprofilerate=1"

// Of a job with recoveries again and again.
const (
	recurringSteps = 3 // of an attempt
	evictedEvery   = 10
)

// recurringNodes are those of the ranks at first.
var recurringNodes = []int{0, 0, 1, 1}

// recurringMain is a job in which a rank that is not the first one dies in each attempt, after some steps, until there
// were so many recoveries. With evict another one is in the way every 10th time. In the attempts that are
// measured all wait, and the first rank tells what it uses: where the ranks are spread as at first, for a rank that is
// alone on its node has the copies of all others.
func recurringMain(dir string, args []string) error {
	recoveries, _ := strconv.Atoi(args[0])
	early, _ := strconv.Atoi(args[1])
	evict := args[2] == "evict"
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		stepwise.Begin(z)
		c, epoch := z.Comm(), z.Epoch()
		measured := seen(dir, false) // on all ranks, if it was in an attempt before
		cp, err := checkpoint.New("recurring", c, checkpoint.WithPath(filepath.Join(dir, "cp")))
		if err != nil {
			return err
		}
		defer cp.Close()
		field := make([]float64, 30_000)
		cp.Add("field", cptypes.Partitioned(&field, int(c.Rank())*30_000, int(c.Rank()+1)*30_000, c.Size()*30_000))
		if err := cp.Commit(); err != nil {
			return err
		}
		iter := 0
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return err
		}
		for range recurringSteps {
			sum, err := comm.AllreduceOne(ctx, c, field[0]+float64(c.Rank()), comm.Sum)
			if err != nil {
				return err
			}
			field[iter%len(field)] = sum
			z.Step(iter)
			if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
				return err
			}
			iter++
		}
		if err := cp.Wait(ctx); err != nil {
			return err
		}
		nodes := make([]int, c.Size())
		if err := comm.Allgather(ctx, c, []int{z.Node()}, nodes); err != nil {
			return err
		}
		spread := slices.Equal(nodes, recurringNodes)
		last := epoch >= recoveries && spread && measured
		if last || epoch >= early && spread && !measured {
			if strings.Contains(os.Getenv("CRAFT_LEVELS"), "pfs") { // while one is being copied more stay
				if err := cp.Flush(ctx); err != nil {
					return err
				}
			}
			if err := tellUsage(ctx, z, dir, last); err != nil {
				return err
			}
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if last {
			return nil
		}
		victim := 1 + epoch%(c.Size()-1)
		switch other := 1 + (epoch+1)%(c.Size()-1); {
		case int(c.Rank()) == victim:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case evict && epoch%evictedEvery == 0 && int(c.Rank()) == other:
			time.Sleep(time.Hour)
		}
		return comm.Barrier(ctx, c)
	}, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

// tellUsage lets the first rank tell what it uses, again and again, until the test has seen enough.
func tellUsage(ctx context.Context, z *aft.Zone, dir string, last bool) error {
	if z.Comm().Rank() == 0 {
		name := filepath.Join(dir, fmt.Sprint("usage-", last))
		for ctx.Err() == nil {
			if seen(dir, last) {
				break
			}
			u, err := ownUsage()
			if err != nil {
				return err
			}
			text, err := json.Marshal(told{PID: os.Getpid(), Epoch: z.Epoch(), Replacement: z.Replacement(), Usage: u})
			if err != nil {
				return err
			}
			if err := os.WriteFile(name+".new", text, 0o600); err != nil {
				return err
			}
			if err := os.Rename(name+".new", name); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return comm.Barrier(ctx, z.Comm())
}

// seen: the test has measured the first time, or the last.
func seen(dir string, last bool) bool {
	_, err := os.Stat(filepath.Join(dir, fmt.Sprint("seen-", last)))
	return err == nil
}

// told is what the first rank tells.
type told struct {
	PID, Epoch  int
	Replacement bool
	Usage       usage
}
