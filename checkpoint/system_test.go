//go:build linux

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/storage"
)

// These tests meet the real conditions of a system, in a process of their own
// that is an ordinary user: root may do anything.

const childVariable = "CRAFT_TEST_CHILD"

func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if scenario := os.Getenv(childVariable); scenario != "" {
		if scenario == poisonedScenario {
			os.Exit(runPoisoned(os.Args[len(os.Args)-1]))
		}
		if scenario == endingScenario {
			os.Exit(runEnding(os.Args[len(os.Args)-1]))
		}
		run := runScenario
		switch {
		case scenario == "memory of level mem":
			run = func(_, base string) error { return runMemoryLevel(base) }
		case strings.HasPrefix(scenario, "memory"):
			run = runMemory
		case scenario == jobScenario:
			run = func(_, arg string) error { return runMemoryJob(arg) }
		case scenario == lockedScenario:
			run = func(_, arg string) error { return runLocked(arg) }
		case scenario == tableScenario:
			run = func(_, spec string) error { return tableProcess(spec) }
		}
		if err := run(scenario, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A fifth of the tests' time was spent on what their jobs of goroutines leave behind on a small heap.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// scenarios break a directory that holds a version and say what the error must
// match and contain; mend makes it right again.
var scenarios = map[string]struct {
	spoil, mend func(base string) error
	text        string
	is          error
}{
	"no permission": {
		spoil: func(base string) error { return os.Chmod(filepath.Join(base, "prog"), 0o500) },
		mend:  func(base string) error { return os.Chmod(filepath.Join(base, "prog"), 0o700) },
		is:    syscall.EACCES, text: "prog/v-",
	},
	"no access at all": {
		spoil: func(base string) error { return os.Chmod(base, 0) },
		mend:  func(base string) error { return os.Chmod(base, 0o700) },
		is:    syscall.EACCES, text: "prog",
	},
	"too many open files": {
		spoil: func(string) error { return limitFiles(3) },
		mend:  func(string) error { return limitFiles(256) },
		is:    syscall.EMFILE, text: "too many open files",
	},
	"file size limit": {
		spoil: func(string) error { return limitFileSize(4096) },
		mend:  func(string) error { return limitFileSize(1 << 30) },
		is:    syscall.EFBIG, text: "prog/v-",
	},
}

func limitFiles(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: 1024})
}

func limitFileSize(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: 1 << 30})
}

func TestSystemFailures(t *testing.T) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) { asUser(t, name, userDir(t)) })
	}
}

// runScenario writes versions, breaks the directory, sees writes fail with the
// right error, mends it and goes on.
func runScenario(name, base string) error {
	s := scenarios[name]
	p := newProgram(panics{}, nil, true, WithPath(base))
	defer p.cp.Close()
	ctx := context.Background()
	if err := p.run(ctx, 3, 1); err != nil {
		return err
	}
	if err := s.spoil(base); err != nil {
		return err
	}
	var failure error
	for range 2 {
		p.step()
		if failure = p.cp.UpdateAndWrite(ctx, p.iter, 1); failure == nil {
			return fmt.Errorf("the write worked")
		}
		p.iter++
	}
	if err := s.mend(base); err != nil {
		return err
	}
	var is syscall.Errno
	if !errors.As(failure, &is) || is != s.is {
		return fmt.Errorf("the error does not match %v: %w", s.is, failure)
	}
	if !strings.Contains(failure.Error(), s.text) {
		return fmt.Errorf("the error does not say %q: %w", s.text, failure)
	}
	found, err := filepath.Glob(filepath.Join(base, "prog", "v-*"))
	if err != nil || len(found) < 2 || !strings.Contains(found[len(found)-1], "v-000003-") {
		return fmt.Errorf("earlier versions do not stay: %v %w", found, err)
	}
	if err := p.run(ctx, 7, 1); err != nil {
		return fmt.Errorf("later write: %w", err)
	}
	return p.cp.Close()
}

// A write and a restore need at most the data and 64 MiB, seen from outside.
func TestPeakMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	dir := userDir(t)
	asUser(t, "memory of a write", dir)
	asUser(t, "memory of a restore", dir)
	asUser(t, "memory of a copy", userDir(t))
	asUser(t, "memory of a copy through little staging", userDir(t))
	asUser(t, "memory without a copy", userDir(t))
}

func runMemory(scenario, base string) error {
	const bytes = 192 << 20
	allowed := int64(bytes + 64<<20)
	options := []Option{WithPath(base), WithSync(SyncNone)}
	switch scenario {
	case "memory of a copy":
		allowed += bytes
		options = append(options, WithAsync(AsyncCopy))
	case "memory of a copy through little staging":
		allowed += 32 << 20
		options = append(options, WithAsync(AsyncCopy), WithStaging(32<<20))
	case "memory without a copy":
		options = append(options, WithAsync(AsyncZeroCopy))
	}
	restore := scenario == "memory of a restore"
	var data []float64
	if !restore {
		data = make([]float64, bytes/8)
		for i := range data {
			data[i] = float64(i)
		}
	}
	cp, err := New("memory", nil, options...)
	if err != nil {
		return err
	}
	defer cp.Close()
	_ = cp.Add("data", &data)
	if err := cp.Commit(); err != nil {
		return err
	}
	if err := cp.RestartIfNeeded(context.Background(), nil); err != nil {
		return err
	}
	if len(data) != bytes/8 || data[12345] != 12345 {
		return fmt.Errorf("nothing was restored")
	}
	for range 2 {
		if !restore && err == nil {
			err = cp.Write(context.Background())
		}
	}
	if err == nil {
		err = cp.Wait(context.Background())
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, scan := fmt.Sscan(after, &kib); scan != nil {
		return scan
	}
	if kib<<10 > allowed {
		return fmt.Errorf("%s: peak memory is %d MiB, allowed are %d", scenario, kib>>10, allowed>>20)
	}
	fmt.Fprintf(os.Stderr, "%s: peak %d MiB for %d MiB of data\n", scenario, kib>>10, bytes>>20)
	return err
}

func TestReadOnlyFileSystem(t *testing.T) {
	base := t.TempDir()
	mount(t, base, "size=16m")
	p := newProgram(t, nil, true, WithPath(base))
	defer p.cp.Close()
	require.NoError(t, p.run(t.Context(), 3, 1))
	remount := func(flags uintptr) {
		require.NoError(t, syscall.Mount("", base, "tmpfs", flags|syscall.MS_REMOUNT, ""))
	}
	require.NoError(t, p.cp.Close())
	remount(syscall.MS_RDONLY)
	q := newProgram(t, nil, true, WithPath(base))
	err := q.cp.RestartIfNeeded(t.Context(), &q.iter)
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorContains(t, err, base)
	remount(0)
	require.NoError(t, q.run(t.Context(), 5, 1))
	require.NoError(t, q.cp.Close())
}

func TestRealDiskFull(t *testing.T) {
	base := t.TempDir()
	mount(t, base, "size=1m")
	p := newProgram(t, nil, true, WithPath(base), WithKeep(1))
	defer p.cp.Close()
	require.NoError(t, p.run(t.Context(), 3, 1))
	p.cp.up.doMaintenance(t.Context()) // so that there is nothing to delete
	filler := filepath.Join(base, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	for range 3 {
		p.step()
		require.ErrorIs(t, p.cp.UpdateAndWrite(t.Context(), p.iter, 1), syscall.ENOSPC)
		p.iter++
	}
	require.NoError(t, os.Remove(filler))
	require.NoError(t, p.run(t.Context(), 9, 1))
}

// A file system that is unmounted lazily leaves its mount point, which is a directory.
func TestUnmountedInTheMiddle(t *testing.T) {
	disk, base := t.TempDir(), t.TempDir()
	mount(t, disk, "size=16m")
	mountAgain := func() { require.NoError(t, syscall.Mount(disk, base, "", syscall.MS_BIND, "")) }
	unmount := func() error { return syscall.Unmount(base, syscall.MNT_DETACH) }
	t.Cleanup(func() { _ = unmount() })
	mountAgain()
	p := newProgram(t, nil, true, WithPath(base))
	defer p.cp.Close()
	require.NoError(t, p.run(t.Context(), 3, 1))
	require.NoError(t, unmount())
	for range 3 {
		p.step()
		require.ErrorIs(t, p.cp.UpdateAndWrite(t.Context(), p.iter, 1), storage.ErrVanished)
		p.iter++
	}
	below, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Empty(t, below)
	mountAgain()
	require.NoError(t, p.run(t.Context(), 9, 1))
	require.NoError(t, p.cp.Close())
	q := newProgram(t, nil, true, WithPath(base))
	require.NoError(t, q.cp.RestartIfNeeded(t.Context(), &q.iter))
	require.Equal(t, 9, q.iter)
	require.NoError(t, q.cp.Close())
}

func mount(t *testing.T, dir, options string) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func TestPathIsAFile(t *testing.T) {
	base := t.TempDir()
	x := 1
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	for _, path := range []string{file, filepath.Join(file, "below")} {
		cp := open(t, path, map[string]any{"x": &x})
		err := cp.RestartIfNeeded(t.Context(), nil)
		require.ErrorIs(t, err, syscall.ENOTDIR)
		require.ErrorContains(t, err, file)
		require.ErrorIs(t, cp.Write(t.Context()), syscall.ENOTDIR)
	}
	require.NoError(t, os.WriteFile(filepath.Join(base, "test"), []byte("mine"), 0o600))
	err := open(t, base, map[string]any{"x": &x}).Write(t.Context())
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorContains(t, err, "CRAFT_CP_PATH")
}

// userDir is a directory that belongs to the user of asUser.
func userDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "craft-test-*")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(dir, nobody, nobody))
	}
	return dir
}

const nobody = 65534

// asUser runs a scenario in a process that is not root.
func asUser(t *testing.T, scenario, dir string) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$", dir)
	cmd.Env = append(os.Environ(), childVariable+"="+scenario)
	if os.Getuid() == 0 {
		// The test binary's own directory may not be open to others.
		copied := filepath.Join(dir, "test-binary")
		data, err := os.ReadFile(self)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied, data, 0o755))
		require.NoError(t, os.Chmod(copied, 0o755))
		cmd.Path = copied
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// panics is a require.TestingT for use outside of tests.
type panics struct{}

func (panics) Errorf(format string, args ...any) { slog.Error(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          { panic("requirement failed") }

// Nothing is left open or running after Close, whatever failed before.
func TestNothingIsLeft(t *testing.T) {
	files := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(open)
	}
	round := func() {
		dir, newest, _ := stored(t)
		_, err := restartFrom(t, dir)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(partFile(newest, 1), 500)) // set aside
		_, err = restartFrom(t, dir)
		require.NoError(t, err)
		p := newProgram(t, nil, true, WithPath(dir)) // another number of ranks: an error
		require.ErrorIs(t, p.cp.RestartIfNeeded(t.Context(), nil), ErrRanks)
		require.NoError(t, p.cp.Close())
		require.NoError(t, os.Chmod(dir, 0o700))
		q := newProgram(t, nil, true, WithPath(filepath.Join(newest, "rank-00000-of-00002.craft")))
		require.Error(t, q.cp.Write(t.Context()))
		require.NoError(t, q.cp.Close())
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		r := newProgram(t, nil, true, WithPath(t.TempDir()))
		require.Error(t, r.cp.Write(cancelled))
		require.NoError(t, r.cp.Close())
	}
	round()
	wantFiles, wantRoutines := files(), runtime.NumGoroutine()
	for range 5 {
		round()
	}
	require.LessOrEqual(t, files(), wantFiles)
	// One that has done its work may take a moment to be gone.
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > wantRoutines && time.Now().Before(end); {
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), wantRoutines)
}
