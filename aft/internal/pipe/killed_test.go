package pipe

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The environment of a child process that writes numbers until it is killed.
const (
	childAddress = "CRAFT_TEST_PIPE_ADDRESS"
	childNetwork = "CRAFT_TEST_PIPE_NETWORK"
	childJob     = "CRAFT_TEST_PIPE_JOB"
	childRing    = "CRAFT_TEST_PIPE_RING"
)

func TestMain(m *testing.M) {
	if os.Getenv(childAddress) != "" {
		if err := writeNumbers(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // only a signal ends it well
	}
	os.Exit(m.Run())
}

func writeNumbers() error {
	ring, err := strconv.Atoi(os.Getenv(childRing))
	if err != nil {
		return err
	}
	cfg := Config{Job: os.Getenv(childJob), Secret: secret, Self: 2, Ring: ring}
	w, err := dialOne(context.Background(), cfg, 1, os.Getenv(childNetwork), os.Getenv(childAddress))
	if err != nil {
		return err
	}
	out := feed(w)
	block := make([]byte, 8*1000)
	for i := uint64(0); ; {
		for at := 0; at < len(block); at += 8 {
			binary.LittleEndian.PutUint64(block[at:], i)
			i++
		}
		if err := out.write(context.Background(), nil, block); err != nil {
			return err
		}
	}
}

// TestWriterIsKilled: SIGKILL in the middle of a stream. The reader gets a whole
// prefix, and then the end.
func TestWriterIsKilled(t *testing.T) {
	for _, body := range bodies {
		for _, bytesBefore := range []int{0, 1, 5_000_000} {
			t.Run(fmt.Sprintf("%s/after=%d", body.name, bytesBefore), func(t *testing.T) {
				cfg := config(t, 1)
				cfg.Ring = body.ring
				l, taken := listening(t, cfg)
				local, tcp := l.Addresses()
				address := map[string]string{"unix": local, "tcp": tcp}[body.network]
				child := exec.Command(os.Args[0])
				child.Env = append(os.Environ(), childAddress+"="+address, childNetwork+"="+body.network,
					childJob+"="+cfg.Job, childRing+"="+strconv.Itoa(body.ring))
				var output bytes.Buffer
				child.Stderr = &output
				require.NoError(t, child.Start())
				r := <-taken
				defer r.Abort()
				killed := false
				got := 0
				read := tryRead(func() int { return 10_000 })
				in := collect(r, func(r *Reader) ([]byte, error) {
					if got >= bytesBefore && !killed {
						killed = true
						if err := child.Process.Kill(); err != nil {
							return nil, err
						}
					}
					b, err := read(r)
					got += len(b)
					return b, err
				})
				all, err := in.wait(t)
				require.NoError(t, err)
				require.True(t, in.eof)
				require.ErrorContains(t, child.Wait(), "killed", output.String())
				require.GreaterOrEqual(t, len(all), bytesBefore)
				for i := 0; i+8 <= len(all); i += 8 {
					require.EqualValues(t, i/8, binary.LittleEndian.Uint64(all[i:]))
				}
			})
		}
	}
}
