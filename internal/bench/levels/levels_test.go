package levels

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/bench/program"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testtime"
)

func TestMain(m *testing.M) { testprogram.Main(m, func() { program.Main("levels", run) }) }

// measure runs the program below a directory and returns its figures by name.
func measure(t testing.TB, dir string, args ...string) map[string]figure {
	t.Helper()
	var r result
	testprogram.New(t).JSON(&r, append([]string{
		"-path", filepath.Join(dir, "pfs"), "-node-path", filepath.Join(dir, "nodes"),
	}, args...)...)
	figures := make(map[string]figure)
	for _, f := range r.Figures {
		figures[f.What] = f
	}
	return figures
}

// left lists the files below a directory.
func left(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// TestLevels: everything is measured as often as it is said, and nothing stays.
func TestLevels(t *testing.T) {
	for name, args := range map[string][]string{
		"a rank on a node":         {"-np", "4", "-size", "4MiB", "-delta", "10%"},
		"two, of different sizes":  {"-np", "8", "-size", "2MiB", "-uneven", "50%", "-delta", "10%"},
		"asynchronous, from copy":  {"-np", "4", "-size", "1MiB", "-async", "copy", "-delta", "10%"},
		"asynchronous, zero-copy ": {"-np", "4", "-size", "1MiB", "-async", "zero-copy", "-delta", "10%"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			figures := measure(t, dir, append(args, "-rounds", "2", "-warm", "1", "-sync", "none")...)
			want := append([]string{"delta 10%", "copy of a node's files", "rebuild of files, xor", "rebuild of files, rs"}, known...)
			for _, l := range known {
				want = append(want, "plain, bytes of "+l)
			}
			for _, l := range []string{"partner", "xor", "rs"} {
				want = append(want, "restart after loss, "+l, "healed, "+l)
			}
			for _, what := range want {
				require.Equal(t, 2, figures[what].Rounds, what)
				require.Positive(t, figures[what].Millis.Median, what)
			}
			require.NotNil(t, figures["xor"].ToLocal)
			require.NotNil(t, figures["xor"].ToPlain)
			require.Less(t, 2*figures["delta 10%"].Bytes, figures["local"].Bytes)
			require.Empty(t, left(t, dir))
		})
	}
}

// TestTooFewNodes: what cannot be measured is said before anything is.
func TestTooFewNodes(t *testing.T) {
	dir := t.TempDir()
	p := testprogram.New(t).Start("-np", "2", "-nodes", "2", "-path", dir, "-node-path", dir).End(1)
	require.Contains(t, p.Stderr.String(), "level rs is measured after the loss of 2 nodes, and there are 2")
	require.Empty(t, left(t, dir))
}

// mark is an upper bound of the project's: in ms on one kind of storage, and in
// percent of the level local.
type mark struct{ memory, disk, ofLocal float64 }

// marks are those of docs/performance.md: half of what FTI took.
var marks = map[string]mark{
	"local":                       {152, 206, 0},
	"partner":                     {247, 324, 220},
	"xor":                         {0, 0, 150},
	"rs":                          {586, 570, 0},
	"pfs":                         {166, 223, 0},
	"delta 1%":                    {0, 0, 15},
	"delta 10%":                   {144, 139, 0},
	"restart after loss, partner": {411, 330, 0},
	"restart after loss, rs":      {999, 857, 0},
}

// TestMarks: three times the marks, on a machine that does nothing else
// (CRAFT_TEST_MARKS=1).
func TestMarks(t *testing.T) {
	if os.Getenv("CRAFT_TEST_MARKS") == "" {
		t.Skip("needs the machine for itself: set CRAFT_TEST_MARKS=1")
	}
	for place, base := range map[string]string{"memory": "/dev/shm", "disk": os.TempDir()} {
		t.Run(place, func(t *testing.T) {
			dir := roomFor(t, base, 6<<30)
			left := slices.Collect(maps.Keys(marks))
			testtime.Marks(t, func() []string {
				figures := measure(t, dir, "-np", "4", "-rounds", "5", "-delta", "1%,10%")
				left = slices.DeleteFunc(left, func(what string) bool {
					require.Positive(t, figures[what].Rounds, what)
					return within(t, place, what, figures[what])
				})
				return left
			})
		})
	}
}

// roomFor makes a directory on a file system with so much room, in bytes.
func roomFor(t *testing.T, base string, needed uint64) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(base, &fs); err != nil {
		t.Skip(base, "is not there:", err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < needed {
		t.Skipf("%s has %d bytes left, %d are needed", base, free, needed)
	}
	dir, err := os.MkdirTemp(base, "levels")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// within reports whether a figure is within three times its marks.
func within(t *testing.T, place, what string, f figure) bool {
	m := marks[what]
	bound := m.memory
	if place == "disk" {
		bound = m.disk
		if bound > 0 && f.ToPlain != nil { // or 90 % of a plain write's speed, whichever is slower
			bound = max(bound, f.Millis.Median/f.ToPlain.Median*100/0.9)
		}
	}
	ok := true
	if bound > 0 {
		t.Logf("%s: %.1f ms, mark %.0f", what, f.Millis.Median, bound)
		ok = f.Millis.Median < 3*bound
	}
	if m.ofLocal > 0 {
		t.Logf("%s: %.0f %% of local, mark %.0f", what, f.ToLocal.Median, m.ofLocal)
		ok = ok && f.ToLocal.Median < 3*m.ofLocal
	}
	return ok
}

func TestFlags(t *testing.T) {
	good := []string{"-path", "a", "-node-path", "b"}
	c, err := parseFlags(append(good, "-size", "3M", "-uneven", "25%", "-delta", "1%,0.5%", "-levels", "xor"))
	require.NoError(t, err)
	require.Equal(t, int64(3<<20), c.size)
	require.Equal(t, 0.25, c.uneven)
	require.Equal(t, []float64{1, 0.5}, c.deltas)
	require.Equal(t, []string{"xor"}, c.levels)
	for _, wrong := range [][]string{
		{"-path", "a"}, {"-node-path", "a"}, append(good, "more"), append(good, "-size", "x"), append(good, "-size", "1k"),
		append(good, "-levels", "local,tape"), append(good, "-delta", "101%"), append(good, "-delta", "1%,x"), append(good, "-uneven", "1%,2%"),
		append(good, "-rounds", "0"), append(good, "-what", "all of it"), append(good, "-async", "maybe"),
	} {
		_, err := parseFlags(wrong)
		require.Error(t, err, wrong)
	}
}

// TestTouch: as many chunks change as are asked for, but one at least.
func TestTouch(t *testing.T) {
	for percent, want := range map[float64]int{0.1: 1, 1: 1, 10: 10, 33: 33, 100: 100} {
		d := newData(100*chunk, 1)
		before := append([]uint64(nil), d.words...)
		d.touch(percent)
		changed := 0
		for c := range 100 {
			const each = chunk / 8
			if !bytes.Equal(asBytes(before[c*each:(c+1)*each]), asBytes(d.words[c*each:(c+1)*each])) {
				changed++
			}
		}
		require.Equal(t, want, changed, percent)
	}
}

func asBytes(words []uint64) []byte { return (&data{words: words}).bytes(int64(8 * len(words))) }
