package vfs_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// listing is a tree in one line, files with their contents: "a=x d/ d/f=y".
func listing(t testing.TB, fsys vfs.FS) string {
	var lines []string
	walk(t, fsys, "/", func(name string, isDir bool) {
		if isDir {
			lines = append(lines, name[1:]+"/")
			return
		}
		data, err := vfs.ReadFile(fsys, name, 1<<20)
		require.NoError(t, err)
		lines = append(lines, name[1:]+"="+string(data))
	})
	return strings.Join(lines, " ")
}

func walk(t testing.TB, fsys vfs.FS, dir string, visit func(name string, isDir bool)) {
	entries, err := fsys.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		visit(name, entry.IsDir())
		if entry.IsDir() {
			walk(t, fsys, name, visit)
		}
	}
}

// script runs lines such as "create a x", "sync a", "rename a b", "mkdir d",
// "remove a", "syncdir /"; create leaves the file open and unsynced.
func script(t *testing.T, m *vfs.Mem, lines string) {
	files := map[string]vfs.File{}
	for line := range strings.SplitSeq(lines, ";") {
		words := append(strings.Fields(line), "", "")
		name := words[1]
		var err error
		switch words[0] {
		case "":
		case "create":
			files[name], err = m.Create(name, 0o644)
			require.NoError(t, err)
			_, err = files[name].Write([]byte(words[2]))
		case "sync":
			err = files[name].Sync()
		case "rename":
			err = m.Rename(name, words[2])
		case "mkdir":
			err = m.Mkdir(name, 0o755)
		case "remove":
			err = m.Remove(name)
		case "syncdir":
			err = m.SyncDir(name)
		default:
			t.Fatalf("script: %q", line)
		}
		require.NoError(t, err, line)
	}
}

// TestCrashOutcomes lists for each script everything that a crash may leave.
func TestCrashOutcomes(t *testing.T) {
	cases := []struct {
		name, durable, script string
		outcomes              []string
	}{
		{"sync does not make the name durable", "", "create a x; sync a", []string{"", "a=x"}},
		{"syncdir does not make the data durable", "", "create a x; syncdir /", []string{"a=", "a=x", "a=\x00"}},
		{"both", "", "create a x; sync a; syncdir /", []string{"a=x"}},
		{"syncdir before the file exists", "", "syncdir /; create a x; sync a", []string{"", "a=x"}},
		{"sync reaches the file under its new name", "", "create a x; rename a b; sync a; syncdir /", []string{"b=x"}},
		{"names are independent", "", "create a; create b", []string{"", "a=", "b=", "a= b="}},
		{"rename is atomic", "create a x; sync a", "rename a b", []string{"a=x", "b=x"}},
		{"rename replaces or not", "create a x; sync a; create b y; sync b", "rename a b", []string{"a=x b=y", "b=x"}},
		{"rename without sync of the data", "create b y; sync b", "create a x; rename a b; syncdir /", []string{"b=", "b=x", "b=\x00"}},
		{"rename of a name that is not durable", "", "create a x; sync a; rename a b", []string{"", "a=x", "b=x"}},
		{"chain of renames", "create a x; sync a", "rename a b; rename b c", []string{"a=x", "b=x", "c=x"}},
		{"swap of names", "create a x; sync a; create b y; sync b", "rename a c; rename b a; rename c b",
			[]string{"a=x b=y", "b=y c=x", "a=y c=x", "a=y b=x"}},
		{"remove", "create a x; sync a", "remove a", []string{"", "a=x"}},
		{"remove made durable", "create a x; sync a", "remove a; syncdir /", []string{""}},
		{"remove after rename", "create a x; sync a; create b y; sync b", "rename a b; remove b", []string{"a=x b=y", "b=x", ""}},
		{"made again", "create a x; sync a", "remove a; create a y; sync a", []string{"a=x", "", "a=y"}},
		{"a directory's own name", "", "mkdir d; create d/a x; sync d/a; syncdir d", []string{"", "d/ d/a=x"}},
		{"a directory without its entries", "", "mkdir d; create d/a x; sync d/a; syncdir /", []string{"d/", "d/ d/a=x"}},
		{"publication in a new directory", "", "mkdir d; create d/t x; sync d/t; rename d/t d/a; syncdir d", []string{"", "d/ d/a=x"}},
		{"move into a new directory", "create a x; sync a", "mkdir d; rename a d/b", []string{"a=x", "a=x d/", "d/ d/b=x"}},
		{"move two levels down", "create a x; sync a", "mkdir d; mkdir d/e; rename a d/e/b",
			[]string{"a=x", "a=x d/", "a=x d/ d/e/", "d/ d/e/ d/e/b=x"}},
		{"move into a new directory, target synced", "create a x; sync a", "mkdir d; rename a d/b; syncdir d", []string{"d/ d/b=x"}},
		{"move between directories, source synced", "mkdir c; mkdir d; create c/a x; sync c/a", "rename c/a d/a; syncdir c", []string{"c/ d/ d/a=x"}},
		{"move out of a directory that goes", "mkdir d; create a x; sync a", "rename a d/a; rename d/a b; remove d",
			[]string{"a=x d/", "d/ d/a=x", "b=x d/", "b=x"}},
		{"directory to a hidden name", "mkdir d; create d/a x; sync d/a; syncdir d", "rename d .d; remove .d/a; remove .d",
			[]string{"d/ d/a=x", "d/", ".d/ .d/a=x", ".d/", ""}},
		{"directories that change places", "mkdir a; mkdir a/b; create a/b/f x; sync a/b/f", "rename a/b b; rename a b/a",
			[]string{"a/ a/b/ a/b/f=x", "a/ b/ b/f=x", "b/ b/a/ b/f=x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := vfs.NewMem()
			script(t, before, c.durable)
			m := before.Crash(1, nil)
			script(t, m, c.script)

			seen := map[string]bool{}
			for seed := range uint64(300) {
				seen[listing(t, m.Crash(0.5, rand.New(rand.NewPCG(seed, 0))))] = true
			}
			require.ElementsMatch(t, c.outcomes, slices.Collect(maps.Keys(seen)))
			require.Equal(t, listing(t, m), listing(t, m.Crash(1, nil)))
			require.Contains(t, c.outcomes, listing(t, m.Crash(0, nil)))
		})
	}
}

// What is left after a crash is durable: a second one changes nothing.
func TestCrashTwice(t *testing.T) {
	m := vfs.NewMem()
	script(t, m, "create a x; mkdir d; create d/b y; rename a d/a")
	once := m.Crash(1, nil)
	require.Equal(t, listing(t, m), listing(t, once.Crash(0, nil)))
	require.Empty(t, listing(t, m.Crash(0, nil)))
}

func TestCrashIsACopy(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("/a", 0o640)
	require.NoError(t, err)
	_, err = f.Write([]byte("before"))
	require.NoError(t, err)
	disk := m.Crash(1, nil)
	_, err = f.Write([]byte(" after"))
	require.NoError(t, err)
	require.NoError(t, disk.Mkdir("/d", 0o755))
	require.Equal(t, "a=before d/", listing(t, disk))
	require.Equal(t, "a=before after", listing(t, m))

	info, err := disk.Stat("/a")
	require.NoError(t, err)
	original, err := m.Crash(0.5, rand.New(rand.NewPCG(0, 0))).Stat("/")
	require.NoError(t, err)
	require.Equal(t, "-rw-r-----", info.Mode().String())
	require.True(t, original.IsDir())
}

// TestCrashData checks what may be left of a file of several pages.
func TestCrashData(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("/a", 0o644)
	require.NoError(t, err)
	data := bytes.Repeat([]byte("0123456789"), 2500)
	const durable = 5000
	_, err = f.Write(data[:durable])
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, m.SyncDir("/"))
	_, err = f.Write(data[durable:])
	require.NoError(t, err)

	require.Equal(t, "a="+string(data[:durable]), listing(t, m.Crash(0, nil)))
	seen := map[string]int{}
	for seed := range uint64(300) {
		got := []byte(get(t, m.Crash(0.5, rand.New(rand.NewPCG(seed, 1))), "/a"))
		require.Equal(t, data[:durable], got[:durable], "seed %d: durable bytes", seed)
		require.LessOrEqual(t, len(got), len(data))
		switch {
		case len(got) == durable:
			seen["nothing new"]++
		case len(got) < len(data):
			seen["cut"]++
		default:
			seen["full length"]++
		}
		lost := lostPages(t, got, data, durable)
		pages := strings.Count(lost, "x") + strings.Count(lost, ".")
		switch {
		case pages > 1 && !strings.Contains(lost, "."):
			seen["only zeros"]++
		case strings.Contains(lost, "x."):
			seen["hole"]++
		case !strings.Contains(lost, "x"):
			seen["intact"]++
		}
	}
	for _, kind := range []string{"nothing new", "cut", "full length", "only zeros", "hole", "intact"} {
		require.Greater(t, seen[kind], 10, "%s: %v", kind, seen)
	}
}

// lostPages draws the pages after the durable bytes: "." is there, "x" is zeros.
func lostPages(t *testing.T, got, data []byte, durable int) string {
	var pages strings.Builder
	for start := durable; start < len(got); {
		end := min((start/4096+1)*4096, len(got))
		switch {
		case bytes.Equal(got[start:end], data[start:end]):
			pages.WriteByte('.')
		case bytes.Count(got[start:end], []byte{0}) == end-start:
			pages.WriteByte('x')
		default:
			t.Fatalf("bytes %d to %d are neither data nor zeros", start, end)
		}
		start = end
	}
	return pages.String()
}

func TestCrashReplays(t *testing.T) {
	m := vfs.NewMem()
	for i := range 50 {
		script(t, m, fmt.Sprintf("create f%d data; rename f%d g%d; mkdir d%d", i, i, i%7, i))
	}
	crash := func(seed uint64) string { return listing(t, m.Crash(0.5, rand.New(rand.NewPCG(seed, 2)))) }
	require.Equal(t, crash(1), crash(1))
	require.NotEqual(t, crash(1), crash(2))
}

// TestCrashEveryOperation loses power after each operation of a WriteFile.
func TestCrashEveryOperation(t *testing.T) {
	write := func(sync bool) (outcomes map[string]int) {
		m := vfs.NewMem()
		require.NoError(t, vfs.WriteFile(m, "/file", []byte("old"), 0o644, true))
		outcomes = map[string]int{}
		m.OnOp(func(vfs.Op) {
			for seed := range uint64(50) {
				for _, keep := range []float64{0, 0.5, 1} {
					outcomes[get(t, m.Crash(keep, rand.New(rand.NewPCG(seed, 3))), "/file")]++
				}
			}
		})
		require.NoError(t, vfs.WriteFile(m, "/file", []byte("new"), 0o644, sync))
		if sync {
			require.Equal(t, "file=new", listing(t, m.Crash(0, nil)))
		}
		return outcomes
	}
	synced := write(true)
	require.Len(t, synced, 2, "%v", synced)
	require.NotZero(t, synced["old"])
	require.NotZero(t, synced["new"])
	require.NotZero(t, write(false)[""], "without sync an empty file must be seen")
}
