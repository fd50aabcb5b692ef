package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// What was in memory alone ends with the job: the next one goes on from the next level and says in
// one line what went, which is no reason for a strict start not to go on.
func TestMemoryEndsWithTheJob(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 4, 2, "mem:1,local:4", inMode(mode), WithStrict())
			w.run() // versions 1 to 10, of which 4 and 8 are on the nodes
			w.until = 14
			w.run()
			require.Equal(t, []int{0, 8}, w.restarts)
			require.Contains(t, w.log.String(), `msg="what was in memory alone has ended with the last job" checkpoint=prog rank=0 version=10 iteration=9 iterations_again=2`)
			require.Empty(t, w.warned())
			w.until = 15
			w.run()
			require.Empty(t, w.warned())
			require.Equal(t, []int{0, 8, 14}, w.restarts) // version 16 was on the nodes
			require.Equal(t, 1, strings.Count(w.log.String(), "what was in memory alone"))
		})
	}
}

// A job that never had anything else begins from zero.
func TestMemoryAlone(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem", WithStrict())
	w.run()
	w.run()
	require.Equal(t, []int{0, 0}, w.restarts)
	require.Contains(t, w.log.String(), "version=10 iteration=9 iterations_again=10")
	require.Empty(t, w.warned())
}

// A zone recovers from what is in memory, with as many ranks as before and with fewer, between
// which the values are distributed anew.
func TestMemoryRecovers(t *testing.T) {
	for _, mode := range modes {
		for _, shrinking := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, shrinking), func(t *testing.T) {
				w := newMemoryWorld(t, 6, 3, "mem:1,local:100", inMode(mode))
				if shrinking {
					w.recovery = comm.Shrinking
				}
				w.restored = func(p *memoryProgram) error {
					if p.epoch() == 0 {
						return nil
					}
					return w.noFiles(p, "recovery")
				}
				w.last = func(p *memoryProgram) error {
					err := w.noFiles(p, "after the recoveries")
					return errors.Join(err, comm.Barrier(t.Context(), p.c)) // before files are touched at the end
				}
				w.step = func(p *memoryProgram) error {
					if p.epoch() == 0 && p.iter == 5 {
						if err := comm.Barrier(t.Context(), p.c); err != nil {
							return err
						}
						if p.c.Rank() == 0 {
							w.files.Store(0)
							p.rank.KillNode(1)
						}
					}
					if p.epoch() == 1 && p.iter == 8 && p.c.Rank() == 2 {
						p.rank.Die()
					}
					return nil
				}
				w.run()
				require.Len(t, w.restarts, 3)
				require.GreaterOrEqual(t, w.restarts[1], 4)
				require.GreaterOrEqual(t, w.restarts[2], 7)
			})
		}
	}
}

// A zone that recovers from memory after the rank that held the lock was lost has it again without
// waiting for a file: to another job the lock would look like that of a dead one.
func TestMemoryRecoversWithTheLock(t *testing.T) {
	for _, shrinking := range []bool{false, true} {
		w := newMemoryWorld(t, 4, 2, "mem:1,local:100")
		if shrinking {
			w.recovery = comm.Shrinking
		}
		w.name = "job"
		var dead sync.Map // who does nothing any more, like a process that was killed
		w.atHome = func(r *afttest.Rank, _ vfs.Op) error {
			if _, is := dead.Load(r); is {
				return errLost
			}
			return nil
		}
		epoch := func() int {
			data, err := vfs.ReadFile(w.home, "/pfs/prog/.lock", 1<<20)
			if err != nil {
				return -1
			}
			var owner filestore.Owner
			line, _, _ := bytes.Cut(data, []byte("\n"))
			if json.Unmarshal(line, &owner) != nil {
				return -1
			}
			return owner.Epoch
		}
		// The first failure leaves the holder of the lock alive, the others do not.
		victims, held := []comm.Rank{1, 0, 0}, []int{0, 0, 2, 3}
		w.step = func(p *memoryProgram) error {
			n := p.epoch()
			if p.iter != 5+n {
				return nil
			}
			if err := eventually(func() bool { return epoch() == held[n] }); err != nil {
				return fmt.Errorf("the lock is of epoch %d after %d recoveries: %w", epoch(), n, err)
			}
			if err := comm.Barrier(t.Context(), p.c); err != nil {
				return err
			}
			if n < len(victims) && p.c.Rank() == victims[n] {
				dead.Store(p.rank, nil)
				p.rank.Die()
			}
			return nil
		}
		w.run()
		require.Len(t, w.restarts, 4)
		require.Equal(t, -1, epoch(), "given back")
	}
}

// When more is lost than the copies allow, the next level answers.
func TestMemoryLost(t *testing.T) {
	w := newMemoryWorld(t, 6, 3, "mem:1,partner:4")
	w.step = func(p *memoryProgram) error {
		if p.epoch() == 0 && p.iter == 6 && p.c.Rank() == 0 {
			for r := range 5 {
				p.rank.Kill(comm.OriginalRank(r + 1))
			}
		}
		return nil
	}
	w.run()
	require.Equal(t, []int{0, 4}, w.restarts)
	require.Contains(t, w.log.String(), "a version cannot be restored")
}

// A version that is due for memory alone touches no file.
func TestMemoryAloneTouchesNoFile(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 4, 2, "mem:1,local:5,pfs:10", inMode(mode))
			w.until = 30
			w.step = func(p *memoryProgram) error {
				version := p.iter + 1 // that is going to be written
				if err := comm.Barrier(t.Context(), p.c); err != nil {
					return err
				}
				switch {
				case version%5 == 2: // after 1, or 6
					if err := p.settled(t.Context()); err != nil {
						return err
					}
					w.files.Store(0)
				case version%5 == 0 && p.c.Rank() == 0:
					if err := w.noFiles(p, fmt.Sprint("before version ", version)); err != nil {
						return err
					}
				}
				return comm.Barrier(t.Context(), p.c)
			}
			w.run(func(o *options) { o.lookEvery = time.Hour }) // requests are looked for beside the program
		})
	}
}

// There is one version in memory, whatever is kept elsewhere, and two while one is written.
func TestMemoryKeepsOneVersion(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem:1,local:5", WithKeep(3))
	w.cells = 4 * 1 << 19 // 4 MiB for each rank
	w.until = 16
	w.last = func(p *memoryProgram) error {
		used, most := placement.Memory(p.cp.placement)
		if bound := int64(2 * 2 * (4<<20 + 8<<10)); most > bound+2<<20 {
			return fmt.Errorf("rank %d: %d bytes, allowed are %d", p.c.Rank(), most, bound)
		}
		if used > most*5/8 {
			return fmt.Errorf("rank %d: %d bytes of %d are in use for one version", p.c.Rank(), used, most)
		}
		if p.c.Rank() != 0 {
			return nil
		}
		var levels []string
		for _, v := range p.cp.Stored() {
			levels = append(levels, fmt.Sprint(v.Version, " ", v.Level, " ", v.Durability))
		}
		require.Equal(t, []string{"5 local local", "10 local local", "15 local local", "16 mem redundant"}, levels)
		return nil
	}
	w.run()
}

// On one node copies are on other ranks of it, and one rank has none: then versions are where
// the next level has them.
func TestMemoryOnOneNode(t *testing.T) {
	w := newMemoryWorld(t, 3, 1, "mem")
	w.step = func(p *memoryProgram) error {
		if p.epoch() == 0 && p.iter == 5 && p.c.Rank() == 1 {
			p.rank.Die()
		}
		return nil
	}
	w.run()
	require.Equal(t, 5, w.restarts[1])
	require.Equal(t, 1, strings.Count(w.log.String(), "kept_as=process"), "once in a job")

	w = newMemoryWorld(t, 1, 1, "mem")
	w.run()
	require.Contains(t, w.log.String(), "kept_as=local")
	w.until = 12
	w.run()
	require.Equal(t, []int{0, 10}, w.restarts)
}

func TestMemoryLimit(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem", func(o *options) { o.MemLimit = 8 << 20 })
	w.cells = 4 * 1 << 18 // 2 MiB for each rank, 8 MiB and the ends with two versions and two copies
	err := w.job()
	require.ErrorContains(t, err, "CRAFT_MEM_LIMIT")
	require.ErrorContains(t, err, "write memory/v-")
	w.cells = 4 * 1 << 17
	w.run()
}

// What a rank has in memory is read from another one if it is damaged.
func TestMemoryDamaged(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem")
	var dead atomic.Bool
	w.step = func(p *memoryProgram) error {
		if p.epoch() == 0 && p.iter == 5 && p.c.Rank() == 1 {
			dead.Store(true)
			p.rank.Kill(2)
		}
		return nil
	}
	w.memory = func(r *afttest.Rank, operation string, key storage.ObjectKey) error {
		if dead.Load() && operation == "read" && key.Kind == storage.KindPart && key.Part.Rank == 1 && r.Session().Place().Epoch == 1 {
			return storage.ErrDamaged
		}
		return nil
	}
	w.run()
	require.GreaterOrEqual(t, w.restarts[1], 5)
	require.Contains(t, w.log.String(), "bytes of a part are taken from another place")
}
