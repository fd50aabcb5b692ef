package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

func TestVerifyFine(t *testing.T) {
	base := t.TempDir()
	write(t, base, "a", 1, 1)
	write(t, base, "b", 4, 3)
	v := decode[verification](t, exitFine, "verify", base)
	require.True(t, v.OK)
	require.Len(t, v.Versions, 4)
	require.Len(t, decode[verification](t, exitFine, "verify", base, "--latest").Versions, 2)
	require.Regexp(t, `(?m)^b +3 +[0-9a-f]{8} +20 +4 +\d+  ok$`, craft(t, "verify", filepath.Join(base, "b")).stdout)
	require.Empty(t, craft(t, "verify", base).stderr)
}

func TestVerifyFindsAnyFlippedBit(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	dir := filepath.Join(base, "c")
	file := parts(t, dir, 1)[1]
	info, err := os.Stat(file)
	require.NoError(t, err)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for range 100 {
		at, bit := random.IntN(int(info.Size())), byte(1)<<random.IntN(8)
		flip := func(b []byte) []byte { b[at] ^= bit; return b }
		edit(t, file, flip)
		v := decode[verification](t, exitFailed, "verify", dir)
		edit(t, file, flip)
		require.False(t, v.OK, "byte %d", at)
		require.Len(t, v.Versions[0].Findings, 1, "byte %d", at)
		require.Equal(t, file, string(v.Versions[0].Findings[0].File))
	}
	require.Equal(t, exitFine, craft(t, "verify", dir).code)
}

func TestVerifyNamesTheKey(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	dir := filepath.Join(base, "c")
	file := parts(t, dir, 1)[1]
	edit(t, file, func(b []byte) []byte {
		at := bytes.Index(b, []byte("grüße"))
		require.Positive(t, at)
		b[at] ^= 1
		return b
	})
	v := decode[verification](t, exitFailed, "verify", dir).Versions[0]
	require.Equal(t, verdictDamaged, v.Verdict)
	require.Equal(t, "title", v.Findings[0].Key)
	require.NotNil(t, v.Findings[0].Offset)
	r := craft(t, "verify", dir)
	require.Regexp(t, `(?m)^damaged +`+file+` +title +\d+ +chunk 0: checksum$`, r.stdout)
}

func TestVerifyFindsWrongFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string, files []string) (now string)
		says   string
	}{
		{"truncated", func(t *testing.T, dir string, files []string) string {
			edit(t, files[0], func(b []byte) []byte { return b[:len(b)-1] })
			return dir
		}, ""},
		{"empty", func(t *testing.T, dir string, files []string) string {
			edit(t, files[0], func([]byte) []byte { return nil })
			return dir
		}, ""},
		{"longer", func(t *testing.T, dir string, files []string) string {
			edit(t, files[0], func(b []byte) []byte { return append(b, 0) })
			return dir
		}, ""},
		{"swapped", func(t *testing.T, dir string, files []string) string {
			require.NoError(t, os.Rename(files[0], files[0]+".x"))
			require.NoError(t, os.Rename(files[1], files[0]))
			require.NoError(t, os.Rename(files[0]+".x", files[1]))
			return dir
		}, "its place says"},
		{"foreign", func(t *testing.T, dir string, files []string) string {
			edit(t, files[0], func([]byte) []byte { return []byte("#!/bin/sh\n") })
			return dir
		}, ""},
		{"of another version", func(t *testing.T, dir string, files []string) string {
			data, err := os.ReadFile(parts(t, dir, 2)[0])
			require.NoError(t, err)
			edit(t, files[0], func([]byte) []byte { return data })
			return dir
		}, "its place says"},
		{"version renamed", func(t *testing.T, dir string, files []string) string {
			require.NoError(t, os.Rename(filepath.Dir(files[0]), filepath.Join(dir, "v-000009-0123456789abcdef")))
			return dir
		}, "its place says"},
		{"checkpoint renamed", func(t *testing.T, dir string, files []string) string {
			require.NoError(t, os.Rename(dir, dir+"2"))
			return dir + "2"
		}, "its place says"},
		{"missing of the announced version", func(t *testing.T, dir string, _ []string) string {
			require.NoError(t, os.Remove(parts(t, dir, 2)[1]))
			return dir
		}, "this file is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := t.TempDir()
			write(t, base, "c", 2, 2)
			dir := filepath.Join(base, "c")
			dir = c.damage(t, dir, parts(t, dir, 1))
			v := decode[verification](t, exitFailed, "verify", dir)
			verdicts, reasons := "", ""
			for _, version := range v.Versions {
				verdicts += version.Verdict + " "
				for _, f := range version.Findings {
					reasons += f.Reason + "\n"
				}
			}
			require.Contains(t, verdicts, verdictDamaged)
			require.Contains(t, reasons, c.says)
		})
	}
}

func TestVerifyIncomplete(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 2)
	dir := filepath.Join(base, "c")
	files := parts(t, dir, 1)
	require.NoError(t, os.Remove(files[0]))
	v := decode[verification](t, exitFine, "verify", dir)
	require.Equal(t, verdictIncomplete, v.Versions[0].Verdict)
	require.False(t, v.Versions[0].Read)
	require.True(t, decode[verification](t, exitFine, "verify", dir, "--all").Versions[0].Read)
	require.Equal(t, exitFailed, craft(t, "verify", filepath.Dir(files[0])).code)
	require.Equal(t, exitFine, craft(t, "verify", files[1]).code)
	require.NoError(t, syscall.Mkfifo(files[0], 0o600))
	require.Equal(t, exitFailed, craft(t, "verify", files[0]).code, "it is no regular file, and not read")
	require.NoError(t, os.Remove(files[0]))
	require.NoError(t, os.Remove(parts(t, dir, 2)[0]))
	require.NoError(t, os.Remove(filepath.Join(dir, "LATEST.json")))
	r := craft(t, "verify", dir)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "no complete version")
}

// TestUnreadableIsNotDamaged: an error of the device says nothing of the bytes.
func TestUnreadableIsNotDamaged(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EACCES} {
		fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen && filepath.Base(op.Path) == "rank-00001-of-00002.craft" {
				return errno
			}
			return nil
		})
		r := craftOn(t, fsys, 0, "verify", filepath.Join(base, "c"))
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stdout, verdictUnreadable)
		require.Contains(t, r.stdout, errno.Error())
		require.NotContains(t, r.stdout, verdictDamaged)
	}
}

// TestVersionsVanish: the job goes on and deletes what is looked at.
func TestVersionsVanish(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 2)
	dir := filepath.Join(base, "c")
	oldest := filepath.Dir(parts(t, dir, 1)[0])
	var opened atomic.Int64
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && filepath.Dir(op.Path) == oldest {
			if opened.Add(1) == 2 { // the first is for the listing
				require.NoError(t, os.Rename(oldest, filepath.Join(dir, ".trash-v")))
			}
		}
		return nil
	})
	r := craftOn(t, fsys, 0, "verify", dir)
	require.Equal(t, exitFine, r.code, "%s", r.stdout)
	require.Empty(t, r.stderr)
	require.NotContains(t, r.stdout, filepath.Base(oldest))
	require.Contains(t, r.stdout, "ok")
}

func TestInterrupted(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	ctx, cancel := context.WithCancel(t.Context())
	fsys := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen {
			cancel()
		}
		return nil
	})
	var out, errs bytes.Buffer
	p := &program{screen: screen{stdout: &out, stderr: &errs, now: time.Now}, fs: fsys, progress: true}
	require.Equal(t, exitInterrupted, p.run(ctx, []string{"verify", base}))
	require.Contains(t, errs.String(), "interrupted")
	require.Empty(t, out.String())
}
