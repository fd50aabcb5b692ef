package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/offline"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &program{screen: screen{stderr: &out}, progress: true}
		version := func(number uint64, read bool) target {
			v := offline.Version{Entry: storage.Entry{ID: storage.ID{Version: number}}, Bytes: 4 << 20}
			return target{c: &offline.Checkpoint{Name: "c"}, v: v, read: read}
		}
		targets := []target{version(1, true), version(2, false), version(3, true)}
		b := p.startProgress(targets)
		shows := func(line string) {
			t.Helper()
			time.Sleep(progressEvery)
			synctest.Wait()
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			require.Equal(t, line, strings.TrimPrefix(lines[len(lines)-1], "\x1b[A\x1b[K"))
		}
		b.enter(targets[0])
		time.Sleep(10*time.Second - progressEvery)
		targets[0].c.OnRead(2 << 20)
		shows(" 25 % [2.0 MiB in 10s; left: 30s; 205 KiB/s] of 8.0 MiB: c version 1")
		targets[0].c.OnRead(3 << 20) // its index is read again
		shows(" 50 % [4.0 MiB in 10s; left: 10s; 402 KiB/s] of 8.0 MiB: c version 1")
		b.enter(targets[1])
		targets[1].c.OnRead(1 << 20)
		b.enter(targets[2])
		targets[2].c.OnRead(4 << 20)
		shows("100 % [8.0 MiB in 10s; 788 KiB/s] of 8.0 MiB: c version 3")
		out.Reset()
		b.end()
		require.Equal(t, "\x1b[A\x1b[K", out.String(), "the line is gone")

		out.Reset()
		p.startProgress(targets).end()
		require.Empty(t, out.String())
	})
}

func TestProgressCountsWhatIsRead(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 3)
	p := &program{fs: vfs.OS()}
	where, err := find(t.Context(), p.fs, base)
	require.NoError(t, err)
	targets, _, err := verifying{}.chosen(t.Context(), where)
	require.NoError(t, err)
	b := p.startProgress(targets)
	read := int64(0)
	for _, v := range targets {
		b.enter(v)
		_, _, err := v.verify(t.Context())
		require.NoError(t, err)
		read += v.v.Bytes
		require.Equal(t, read, b.line.Value())
	}
}
