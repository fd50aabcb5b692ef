package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/offline"
)

// levelled is a checkpoint over 8 ranks on 4 nodes, which are directories.
type levelled struct {
	base, dir, nodes string

	flush bool // the newest version, at the end of run
}

func newLevelled(t *testing.T) levelled {
	root := t.TempDir()
	return levelled{base: filepath.Join(root, "cp"), dir: filepath.Join(root, "cp", "c"), nodes: filepath.Join(root, "nodes")}
}

func (l levelled) node(i int) string { return filepath.Join(l.nodes, fmt.Sprintf("node-%d", i)) }

// run lets a job write versions of iterations 0, 10, ...; then is called while it
// has the checkpoint open, by rank 0.
func (l levelled) run(t *testing.T, levels string, versions int, then func(), opts ...checkpoint.Option) {
	const ranks = 8
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		v := make([]float64, 100_000) // constant: deltas refer to it
		mine := int64(c.Rank())
		policy, err := storage.ParsePolicy(levels)
		if err != nil {
			return err
		}
		all := append([]checkpoint.Option{
			checkpoint.WithPath(l.base), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithKeep(10), checkpoint.WithCompression(checkpoint.CompressOff),
			checkpoint.WithLevels(policy...), checkpoint.WithNodePath(l.node(int(c.Rank()) / 2)), checkpoint.WithLogger(slog.New(slog.DiscardHandler)),
		}, opts...)
		cp, err := checkpoint.New("c", c, all...)
		if err != nil {
			return err
		}
		err = errors.Join(cp.Add("v", &v), cp.Add("mine", &mine), cp.Add("shared", cptypes.Replicated(&[]int64{1, 2, 3})), cp.Commit())
		if err == nil {
			err = cp.RestartIfNeeded(ctx, nil)
		}
		for i := 0; err == nil && i < versions; i++ {
			mine += 100
			err = cp.UpdateAndWrite(ctx, 10*i, 10)
		}
		if err == nil && then != nil {
			err = comm.Barrier(ctx, c)
			if c.Rank() == 0 {
				then()
			}
			err = errors.Join(err, comm.Barrier(ctx, c))
		}
		if err == nil && l.flush {
			err = cp.Flush(ctx)
		}
		return errors.Join(err, cp.Close())
	})
	require.NoError(t, err)
}

func (l levelled) list(t *testing.T) listedCheckpoint {
	found := decode[listing](t, exitFine, "ls", l.base).Checkpoints
	require.Len(t, found, 1)
	return found[0]
}

func (l levelled) lose(t *testing.T, nodes ...int) {
	for _, i := range nodes {
		require.NoError(t, os.RemoveAll(l.node(i)))
	}
}

// objects are files on a node that match.
func (l levelled) objects(t *testing.T, node int, pattern string) []string {
	files, err := filepath.Glob(filepath.Join(l.node(node), "c-*", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	return files
}

// elsewhere makes the note name nodes of other hosts.
func (l levelled) elsewhere(t *testing.T, nodes ...int) {
	note, err := os.ReadFile(filepath.Join(l.dir, manifest.Name))
	require.NoError(t, err)
	text := string(note)
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, i := range nodes {
		dir := strings.Index(text, l.node(i)+"/")
		require.Positive(t, dir)
		at := strings.LastIndex(text[:dir], `"`+host+`"`)
		require.Positive(t, at)
		text = text[:at] + fmt.Sprintf(`"far%d"`, i) + text[at+len(host)+2:]
	}
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, manifest.Name), []byte(text), 0o600))
	l.lose(t, nodes...)
}

func TestListingOfNodes(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local,partner:2", 3, nil)
	c := l.list(t)
	require.Len(t, c.Versions, 3)
	require.Equal(t, "local:1,partner:2", c.Levels)
	require.Len(t, c.Nodes, 4)
	require.Equal(t, []int{2, 3}, c.Nodes[1].Ranks)
	for i, level := range []string{"local", "partner", "local"} {
		v := c.Versions[i]
		require.Equal(t, level, v.Level.String())
		require.Equal(t, level, v.Reached.String())
		require.Equal(t, []catalog.Durability{catalog.Local, catalog.Redundant, catalog.Local}[i], *v.Durability)
		require.Equal(t, "complete", v.State)
		require.Equal(t, 8, v.OnNodes)
		require.Zero(t, v.Home)
		require.EqualValues(t, 10*i, *v.Iteration)
		require.True(t, v.NewestLineage)
		require.DirExists(t, string(v.Path))
	}
	require.Greater(t, c.Versions[0].Bytes, int64(8*800_000))
	require.Less(t, c.Versions[1].Bytes, int64(9*800_000), "copies do not count")

	plain := craft(t, "ls", l.base)
	require.Empty(t, plain.stderr)
	require.Regexp(t, `(?m)^c +2 .* - +partner +nodes +- +redundant$`, plain.stdout)
	require.Regexp(t, `(?m)^c +\S+ +2-3 +here `, plain.stdout)
	s := craft(t, "show", l.dir, "--version", "2")
	require.Equal(t, exitFine, s.code, s.stderr)
	require.Regexp(t, `(?m)^level +partner$`, s.stdout)
	require.Regexp(t, `(?m)^stored +host \S+: parts 0-1; copies `, s.stdout)
	require.True(t, decode[verification](t, exitFine, "verify", l.base).OK)

	// A copy less.
	copies, err := filepath.Glob(filepath.Join(l.node(1), "*", "v-000002-*", "copy-*"))
	require.NoError(t, err)
	require.NotEmpty(t, copies)
	require.NoError(t, os.Remove(copies[0]))
	require.Regexp(t, `(?m)^c +2 .* - +partner \(now local\) +nodes +- +local$`, craft(t, "ls", l.base).stdout)
	require.Regexp(t, `(?m)^level +partner \(now local\)$`, craft(t, "show", l.dir, "--version", "2").stdout)
}

// TestLostNodes: what is read from copies and parity is as good.
func TestLostNodes(t *testing.T) {
	for level, lost := range map[string][]int{"partner": {1}, "xor": {1}, "rs": {0, 3}} {
		t.Run(level, func(t *testing.T) {
			l := newLevelled(t)
			l.run(t, level, 2, nil)
			whole := l.list(t).Versions[1]
			l.lose(t, lost...)
			c := l.list(t)
			require.Len(t, c.Versions, 2)
			v := c.Versions[1]
			require.True(t, v.Complete)
			require.Equal(t, whole.Bytes, v.Bytes)
			require.Equal(t, offline.NodeGone, c.Nodes[lost[0]].State)
			require.Equal(t, storage.Levels(0), *v.Reached)
			require.Equal(t, catalog.Local, *v.Durability, "a restart can take it")
			require.Contains(t, craft(t, "ls", l.base).stdout, level+" (degraded)")
			if level == "partner" {
				require.Equal(t, 8, v.OnNodes)
			} else {
				require.Equal(t, 2*len(lost), v.Rebuilt)
			}
			require.True(t, decode[verification](t, exitFine, "verify", l.base).OK)
			shown := decode[shownVersion](t, exitFine, "show", l.dir, "--values")
			require.Len(t, shown.Locations, 4-len(lost))

			l.lose(t, 0, 1, 3)
			v = l.list(t).Versions[1]
			require.False(t, v.Complete, "too much is lost")
			require.Regexp(t, "^[24] of 8 parts$", v.State)
			l.lose(t, 2)
			c = l.list(t)
			require.Len(t, c.Versions, 1)
			require.Equal(t, "lost", c.Versions[0].State)
			require.EqualValues(t, 10, *c.Versions[0].Iteration)
			r := craft(t, "show", l.dir)
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.stderr, "nothing of it is left")
			require.Contains(t, craft(t, "verify", l.dir).stderr, "holds no complete version")
		})
	}
}

// A version of which parts are lost is at no level any more, whatever is left of it.
func TestReachedByAnIncompleteVersion(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local,partner:2", 3, nil)
	l.lose(t, 1)
	reached := make(map[uint64]storage.Levels)
	for _, v := range l.list(t).Versions {
		require.Equal(t, v.Version == 2, v.Complete)
		reached[v.Version] = *v.Reached
	}
	require.Equal(t, map[uint64]storage.Levels{1: 0, 2: 0, 3: 0}, reached)
}

// TestNodesElsewhere: on a machine that is none of the nodes, or one of them.
func TestNodesElsewhere(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "partner", 2, nil)
	l.elsewhere(t, 1, 2, 3)
	c := l.list(t)
	require.Equal(t, offline.NodeElsewhere, c.Nodes[2].State)
	require.Equal(t, "far2", c.Nodes[2].Host)
	v := c.Versions[1]
	require.True(t, v.Elsewhere)
	require.Nil(t, v.Reached)
	require.Nil(t, v.Durability)
	require.True(t, v.NewestLineage)
	require.Equal(t, "4 of 8 parts here", v.State)
	r := craft(t, "verify", l.dir)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "version 2 is kept at level partner on other nodes: far1 (")
	checked := decode[verification](t, exitFine, "verify", l.dir, "--all").Versions
	require.Equal(t, verdictElsewhere, checked[1].Verdict)
	require.Empty(t, checked[1].Findings)

	l = newLevelled(t)
	l.run(t, "local", 2, nil)
	l.elsewhere(t, 0, 1, 2, 3)
	c = l.list(t)
	require.Len(t, c.Versions, 1)
	require.Equal(t, "on other nodes", c.Versions[0].State)
	require.Equal(t, 8, c.Versions[0].Ranks)
	require.True(t, c.Versions[0].NewestLineage)
	r = craft(t, "show", l.dir)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "craft node verify there")
}

// TestFlushed: the parallel file system is read first.
func TestFlushed(t *testing.T) {
	l := newLevelled(t)
	l.flush = true
	l.run(t, "partner:1,pfs:2", 2, nil)
	require.Regexp(t, `(?m)^stored +parallel file system: parts 0-7 .*\nstored +host `, craft(t, "show", l.dir).stdout)
	require.Regexp(t, `(?m)^c +2 .* partner\+pfs +pfs\+nodes .*- +redundant$`, craft(t, "ls", l.base).stdout)
	l.lose(t, 0, 1, 2, 3)
	versions := l.list(t).Versions
	require.Len(t, versions, 1)
	v := versions[0]
	require.Equal(t, "complete", v.State)
	require.Equal(t, 8, v.Home)
	require.True(t, v.Flush)
	require.Regexp(t, `(?m)^c +2 .* partner\+pfs +pfs .*- +local$`, craft(t, "ls", l.base).stdout, "it was not synced")
	require.Equal(t, exitFine, craft(t, "verify", l.dir).code)
}

// TestNoteThatIsNotUnderstood: what is on the parallel file system is shown all
// the same, and what is not known is told.
func TestNoteThatIsNotUnderstood(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 1, 1)
	dir := filepath.Join(base, "c")
	for _, note := range []string{"{", `{"format": 2, "id": "1f"}`, `{"format": 1, "id": "1f", "newest": {"directory": "x", "level": "local"}}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(note), 0o600))
		for _, command := range []string{"ls", "show", "verify"} {
			r := craft(t, command, dir)
			require.Equal(t, exitFailed, r.code)
			require.NotEmpty(t, r.stdout)
			require.Contains(t, r.stderr, "NODES.json cannot be understood")
		}
	}
}

// TestForeignDirectory: what stands at the path of a node's directory and is not
// of this checkpoint is not read.
func TestForeignDirectory(t *testing.T) {
	l, other := newLevelled(t), newLevelled(t)
	l.run(t, "partner", 1, nil)
	other.run(t, "partner", 1, nil)
	mine, theirs := filepath.Dir(filepath.Dir(l.objects(t, 0, "v-*/*")[0])), filepath.Dir(filepath.Dir(other.objects(t, 0, "v-*/*")[0]))
	require.NoError(t, os.RemoveAll(mine))
	require.NoError(t, os.Rename(theirs, mine))
	c := l.list(t)
	require.Equal(t, offline.NodeUnusable, c.Nodes[0].State)
	require.Contains(t, c.Nodes[0].Reason, "of another checkpoint")
	require.Contains(t, craft(t, "ls", l.base).stderr, "is not used")
	require.Len(t, c.Versions, 1)
	require.True(t, c.Versions[0].Complete, "the partner has copies")
}

func TestRanges(t *testing.T) {
	for want, list := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0-2,5,7-8": {0, 1, 2, 5, 7, 8}} {
		require.Equal(t, want, ranges(list))
	}
}

// Names of files lie: no command counts up to the number of ranks that one states.
func TestStrayParts(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "xor,pfs:2", 3, nil)
	huge := storage.Part{Rank: 0, Size: math.MaxInt32}.String()
	for _, kind := range []string{"", "parity-"} {
		file := l.objects(t, 1, "v-000003-*/"+kind+"rank-*")[0]
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), kind+huge), data, 0o600))
	}
	l.lose(t, 0) // parity is needed
	v := l.list(t).Versions[2]
	require.Equal(t, []any{8, 8, true, "complete"}, []any{v.Ranks, v.Parts, v.Complete, v.State})
	require.Equal(t, 8, decode[shownVersion](t, exitFine, "show", l.dir).Ranks)
	found := decode[verification](t, exitFailed, "verify", l.dir)
	last := found.Versions[len(found.Versions)-1]
	require.Len(t, last.Findings, 1)
	require.Contains(t, last.Findings[0].Reason, "its name says that 2147483647 ranks wrote the version, the other files say 8")
	for _, command := range []string{"ls", "verify", "clean"} {
		craft(t, "node", command, l.node(1)) // ends
	}
}

// A version that was announced, and of which there is one file with a lying name.
func TestNothingButAStrayPart(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	dir := filepath.Join(base, "c")
	files := parts(t, dir, 1)
	require.NoError(t, os.Remove(files[1]))
	require.NoError(t, os.Rename(files[0], filepath.Join(filepath.Dir(files[0]), storage.Part{Rank: 5, Size: math.MaxInt32}.String())))
	v := decode[verification](t, exitFailed, "verify", dir).Versions[0]
	require.Len(t, v.Findings, 1001)
	require.Equal(t, "2147482646 more files are missing", v.Findings[1000].Reason)
	for _, command := range []string{"ls", "show"} {
		require.Equal(t, exitFailed, craft(t, command, dir).code)
	}
}

// One version's directory on a node cannot be listed: that is said, and the others are
// listed and verified.
func TestVersionOfANodeThatCannotBeListed(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 3, nil)
	denied := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir && strings.HasPrefix(op.Path, l.node(1)) && strings.HasPrefix(filepath.Base(op.Path), "v-000001-") {
			return fs.ErrPermission
		}
		return nil
	})
	for _, command := range []string{"ls", "verify"} {
		var out, errs bytes.Buffer
		p := &program{screen: screen{stdout: &out, stderr: &errs, now: time.Now}, fs: denied}
		require.Equal(t, exitFailed, p.run(t.Context(), []string{command, l.dir}), "%s", &errs)
		require.Contains(t, errs.String(), l.node(1))
		require.Contains(t, errs.String(), "cannot be listed as a whole")
		require.NotContains(t, errs.String(), "nothing to restart from")
		require.Regexp(t, `c +3 .*(complete|ok)`, out.String())
	}
}

// What parity would give back is unreadable while that, or a part that it takes for it,
// cannot be read: it is not lost.
func TestParityOfANodeThatCannotBeRead(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "xor", 2, nil)
	l.lose(t, 1)
	for _, file := range []string{"parity-", "rank-"} {
		denied := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			newest := strings.HasPrefix(op.Path, l.node(2)) && strings.HasPrefix(filepath.Base(filepath.Dir(op.Path)), "v-000002-")
			if op.Kind == vfs.OpOpen && newest && strings.HasPrefix(filepath.Base(op.Path), file) {
				return fs.ErrPermission
			}
			return nil
		})
		require.Regexp(t, "c +2 .* away ", craftOn(t, denied, 0, "ls", l.dir).stdout)
		r := craftOn(t, denied, 0, "verify", l.dir)
		require.Equal(t, exitFailed, r.code)
		require.Regexp(t, "c +2 .*"+verdictUnreadable, r.stdout)
		require.Contains(t, r.stdout, fs.ErrPermission.Error())
	}
}

// What the nodes, or the settings, have not allowed is not listed: with one parity in each set
// a version does not survive what the level promises.
func TestListingOfFewerParities(t *testing.T) {
	for parities, want := range map[string]storage.Level{"1": storage.XOR, "2": storage.RS, "3": storage.RS} {
		t.Setenv("CRAFT_RS_PARITY", parities)
		l := newLevelled(t)
		l.run(t, "rs", 1, nil)
		v := l.list(t).Versions[0]
		require.Equal(t, storage.LevelsOf(want), *v.Reached, "%s parities", parities)
		require.Equal(t, storage.LevelsOf(storage.RS), *v.Level)
	}
}

// TestMemoryOfOneRank: what a job of one rank keeps on its node instead of in memory is shown as that.
func TestMemoryOfOneRank(t *testing.T) {
	l := newLevelled(t)
	policy, err := storage.ParsePolicy("mem:1,pfs:2")
	require.NoError(t, err)
	cp, err := checkpoint.New("c", nil, checkpoint.WithPath(l.base), checkpoint.WithNodePath(l.node(0)), checkpoint.WithKeep(10),
		checkpoint.WithLevels(policy...), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	x := 1
	require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	for i := range 3 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
	}
	require.NoError(t, cp.Close())
	versions := l.list(t).Versions
	require.Len(t, versions, 3)
	for _, v := range versions {
		require.Equal(t, storage.LevelsOf(storage.Local), *v.Level)
		require.NotNil(t, v.Durability)
		require.GreaterOrEqual(t, *v.Durability, catalog.Local)
	}
}
