package launch

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFinishedTwice: a program has ended, and its script just then: what is in the pipe is read all the same.
func TestFinishedTwice(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	d := newDrainable(r)
	_, err = w.WriteString("messages")
	require.NoError(t, err)
	d.finish()
	got := new(strings.Builder)
	for range "messages" {
		_, err := io.CopyN(got, d, 1)
		require.NoError(t, err)
		d.finish()
	}
	require.Equal(t, "messages", got.String())
	_, err = d.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
}

// TestDrainNotPolled: what the system does not poll blocks, and is not read without a word to the scheduler.
func TestDrainNotPolled(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, io.Reader(file), newDrainable(file).in)
	_, err = file.WriteAt([]byte("text"), 0)
	require.NoError(t, err)
	got, err := io.ReadAll(newDrainable(file))
	require.NoError(t, err)
	require.Equal(t, "text", string(got))
}
