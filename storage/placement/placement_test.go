package placement_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
	"github.com/craft-go/craft/storage/storagetest"
)

// cluster is a parallel file system and nodes, on disk, for jobs one after the
// other.
type cluster struct {
	dir   string
	nodes []int // of each rank
	log   *slog.Logger

	keep       func(storage.Entry) bool
	flushLimit int64
	late       time.Duration
	homeReads  atomic.Int64 // parts opened on the parallel file system
	// homeFails is asked before each operation there; nil: all is well.
	homeFails func(vfs.Op) error
}

func newCluster(t *testing.T, nodes ...int) *cluster {
	return &cluster{dir: t.TempDir(), nodes: nodes, keep: storage.Entry.Complete, log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}

const anyRank = -1

// isPart reports whether an operation is on the part of a rank, published or not.
func isPart(op vfs.Op, rank int) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(op.Path), "."), ".tmp")
	part, ok := storage.ParsePart(name)
	return ok && (rank == anyRank || part.Rank == rank)
}

func (c *cluster) node(n int) string { return filepath.Join(c.dir, fmt.Sprintf("node%d", n)) }

func (c *cluster) lose(t *testing.T, nodes ...int) {
	for _, n := range nodes {
		require.NoError(t, os.RemoveAll(c.node(n)))
	}
}

// leftOut: of a large table only half of the cases is tried, a quarter with -short, and with
// CRAFT_TEST_SECONDS all.
func leftOut(seed uint64, name string) bool {
	oneOf := uint64(2)
	switch {
	case os.Getenv("CRAFT_TEST_SECONDS") != "":
		return false
	case testing.Short():
		oneOf = 4
	}
	return rand.NewPCG(seed, uint64(crc32.ChecksumIEEE([]byte(name)))).Uint64()%oneOf != 0
}

// job runs body on all ranks, each with its placement after a survey.
func (c *cluster) job(t *testing.T, policy string, body func(ctx context.Context, s *placement.Placement) error) {
	t.Helper()
	p, err := storage.ParsePolicy(policy)
	require.NoError(t, err)
	all, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	err = afttest.Run(all, len(c.nodes), func(ctx context.Context, cm *comm.Comm) (err error) {
		defer func() {
			if err != nil {
				cancel(err) // nobody waits for this one
			}
		}()
		pfs := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen && isPart(op, anyRank) {
				c.homeReads.Add(1)
			}
			if c.homeFails != nil {
				return c.homeFails(op)
			}
			return nil
		})
		files, err := filestore.New(filestore.Config{Path: filepath.Join(c.dir, "pfs"), Name: "cp", Sync: filestore.SyncNone, FS: pfs})
		if err != nil {
			return err
		}
		s, err := placement.Open(ctx, placement.Config{
			Comm: cm, Name: "cp", Home: files, Dir: files.Dir(), Policy: p, Root: c.node(c.nodes[cm.Rank()]),
			Sync: filestore.SyncNone, Log: c.log, FlushLimit: c.flushLimit, Late: c.late,
		})
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				cancel(err) // Close waits for the others
			}
			_ = s.Close(ctx)
		}()
		if err := begin(ctx, s, c.keep); err != nil {
			return err
		}
		if err := body(ctx, s); err != nil {
			return err
		}
		return comm.Barrier(ctx, cm)
	})
	require.NoError(t, err)
	require.NoError(t, context.Cause(all))
}

// values are what a rank writes in a version, of a size of its own.
func values(version uint64, rank int) []byte {
	rng := rand.New(rand.NewPCG(version, uint64(rank)))
	data := make([]byte, 100_000+rng.IntN(400_000)*(rank%3))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

func write(ctx context.Context, s *placement.Placement, version uint64) error {
	store, err := storage.NewStore(s, container.Options{ChunkSize: 64 << 10})
	if err != nil {
		return err
	}
	h, err := put(ctx, s, store, version, values(version, int(s.Comm().Rank())))
	if err != nil {
		return err
	}
	if err := comm.Barrier(ctx, s.Comm()); err != nil {
		return err
	}
	s.Settled(h, s.Outcome(idOf(version), true))
	return nil
}

func check(ctx context.Context, s *placement.Placement, version uint64, size int) error {
	if err := s.Gather(ctx, idOf(version)); err != nil {
		return fmt.Errorf("gather: %w", err)
	}
	if err := comm.Barrier(ctx, s.Comm()); err != nil {
		return err
	}
	store, err := storage.NewStore(s, container.Options{})
	if err != nil {
		return err
	}
	for rank := range size {
		data, err := read(ctx, store, version, storage.Part{Rank: rank, Size: size})
		if err != nil {
			return err
		}
		if !bytes.Equal(data, values(version, rank)) {
			return fmt.Errorf("part of rank %d is another one", rank)
		}
	}
	return nil
}

func TestLevelsSurvive(t *testing.T) {
	const ranks = 8
	nodes := []int{0, 0, 1, 1, 2, 2, 3, 3}
	seed := testseed.Seed(t)
	policies := map[string][][]int{"local": {{}}, "local,pfs": {{0, 1, 2, 3}}}
	for _, level := range storagetest.Protecting() {
		for some := range 1 << 4 { // each set of nodes that it survives the loss of
			var lost []int
			for node := range 4 {
				if some>>node&1 == 1 {
					lost = append(lost, node)
				}
			}
			if len(lost) <= level.Survives.Nodes {
				policies[level.String()] = append(policies[level.String()], lost)
			}
		}
	}
	for policy, losses := range policies {
		for _, lost := range losses {
			name := fmt.Sprint(policy, " without ", lost)
			if leftOut(seed, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				c := newCluster(t, nodes...)
				c.job(t, policy, func(ctx context.Context, s *placement.Placement) error {
					if err := write(ctx, s, 1); err != nil {
						return err
					}
					if policy == "local,pfs" {
						return s.Flush(ctx, idOf(1))
					}
					return nil
				})
				c.lose(t, lost...)
				c.job(t, policy, func(ctx context.Context, s *placement.Placement) error {
					entries, err := s.List(ctx)
					if err != nil {
						return err
					}
					if len(entries) != 1 || !entries[0].Complete() {
						return fmt.Errorf("entries %v", entries)
					}
					return check(ctx, s, 1, ranks)
				})
			})
		}
	}
}
