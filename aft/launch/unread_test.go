//go:build linux

package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprocess"
)

// TestReaderThatEnds: a pipe whose reader has ended (tee, of the same signal as the job, or
// head, because it has seen enough) does not kill the ranks while they save. It asks them to
// end unless that was done.
func TestReaderThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		signal     syscall.Signal // 0: the reader ends by itself
		self, both bool           // standard error goes to the same pipe
		asked      string
		code       int
	}{
		"Ctrl-C":                {signal: syscall.SIGINT, asked: "interrupt", code: 3},
		"closed terminal, 2>&1": {signal: syscall.SIGHUP, both: true, asked: "hangup", code: 3},
		"Self":                  {signal: syscall.SIGTERM, self: true, both: true, asked: "terminated", code: 3},
		"head":                  {asked: "terminated", code: 141},
		"lost connection, Self": {self: true, both: true, asked: "terminated", code: 141},
	} {
		t.Run(name, func(t *testing.T) {
			mark := testprocess.Mark(t)
			dir := t.TempDir()
			cfg := job(t, 2, 2, "save", dir)
			cfg.NoSignals = false
			root := rootCommand(t, cfg)
			if c.self {
				root.Env = append(root.Env, selfVariable+"=1")
			}
			reader, out, err := os.Pipe()
			require.NoError(t, err)
			root.Stdout, root.Stderr = out, io.Discard
			if c.both {
				root.Stderr = out
			}
			require.NoError(t, root.Start())
			t.Cleanup(func() { _, _ = root.Process.Kill(), root.Wait() })
			require.NoError(t, out.Close())
			seen := newWatched()
			copied := make(chan struct{})
			go func() { _, _ = io.Copy(seen, reader); close(copied) }() // ends with the reader
			seen.await(t, `(?s)(of rank 0.*of rank 1|of rank 1.*of rank 0)`)
			if c.signal != 0 {
				require.NoError(t, root.Process.Signal(c.signal))
				seen.await(t, `(?s)asked by .*asked by `)
			}
			require.NoError(t, reader.Close())
			<-copied
			require.Error(t, root.Wait())
			require.Equal(t, c.code, root.ProcessState.ExitCode(), "%v", root.ProcessState)
			for rank := range 2 {
				by, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("saved by ", rank)))
				require.NoError(t, err)
				require.Equal(t, c.asked, string(by))
			}
			mark.NoneLeft(t)
		})
	}
}
