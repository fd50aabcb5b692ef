package launch

import (
	"bufio"
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
)

func outputOf(p control.Proc, size int) control.Message {
	return control.Message{Kind: control.KindOutput, Output: &control.Output{Proc: p, Stream: 1, Data: bytes.Repeat([]byte("x"), size)}}
}

// TestMessagesOvertakeOutput: nobody reads, so that all but the first message
// wait in the queue.
func TestMessagesOvertakeOutput(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	o := newOutbox(w)
	for p := range control.Proc(4) {
		require.NoError(t, o.put(outputOf(p, control.MaxOutput))) // more than a pipe holds, encoded
		require.NoError(t, o.put(outputOf(p, 10)))
	}
	require.NoError(t, o.put(control.Message{Kind: control.KindBye, Bye: &control.Bye{}}))
	require.NoError(t, o.put(control.Message{Kind: control.KindExit, Exits: []control.Exit{{Proc: 3}}}))
	go o.close(time.Now().Add(10 * time.Second)) // ends when all is read

	in := bufio.NewReader(r)
	var got []string
	for {
		m, err := control.ReadMessage(in)
		if err != nil {
			break
		}
		what := string(m.Kind)
		if m.Output != nil {
			what += string(rune('0' + m.Output.Proc))
		}
		got = append(got, what)
	}
	// The first is under way already, perhaps the second was taken too.
	require.Equal(t, "output0", got[0])
	i := 1
	if got[i] == "output0" {
		i++
	}
	require.Equal(t, []string{"bye", "output3", "output3", "exit"}, got[i:i+4])
	require.Len(t, got, 10)
}

func TestClosingDoesNotWaitForOneWhoDoesNotRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	o := newOutbox(w)
	for range 5 {
		require.NoError(t, o.put(outputOf(0, control.MaxOutput)))
	}
	o.close(time.Now())
	require.NoError(t, o.put(outputOf(0, 1)), "a closed one drops it")
}

// TestLargeBodiesInCommon: what many get waits once for all of them, between messages of their own, and each reads
// all of it.
func TestLargeBodiesInCommon(t *testing.T) {
	var procs []control.Proc
	for p := range control.Proc(40_000) { // more than a pipe holds
		procs = append(procs, p)
	}
	body := new(control.Body)
	made := control.Message{Kind: control.KindMade, Made: &control.Made{New: &control.Group{ID: 1, Procs: procs}}}
	var readers [2]*os.File
	var boxes [2]*outbox
	for i := range boxes {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		readers[i], boxes[i] = r, newOutbox(w)
		require.NoError(t, boxes[i].put(outputOf(1, control.MaxOutput)))
		made.To = []control.Proc{control.Proc(i)}
		require.NoError(t, boxes[i].putOf(body, made))
		require.NoError(t, boxes[i].put(control.Message{Kind: control.KindStop}))
	}
	waiting := func(o *outbox) []byte {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.control[len(o.control)-2]
	}
	require.Same(t, &waiting(boxes[0])[0], &waiting(boxes[1])[0])
	for i, o := range boxes {
		go o.close(time.Now().Add(10 * time.Second)) // ends when all is read
		in := bufio.NewReader(readers[i])
		var got []control.Message
		for {
			m, err := control.ReadMessage(in)
			if err != nil {
				break
			}
			if m.Kind != control.KindOutput {
				got = append(got, m)
			}
		}
		made.To = []control.Proc{control.Proc(i)}
		require.Equal(t, []control.Message{made, {Kind: control.KindStop}}, got)
		require.NoError(t, readers[i].Close())
	}
}
