package stack

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// A version is called off while all are given up: it ends once.
func TestCallOffWhileAllAreGivenUp(t *testing.T) {
	for range 20 {
		f := flusher{wake: make(chan struct{}, 1), hurry: make(chan struct{}), ended: make(map[storage.ID]chan struct{}), errs: make(map[storage.ID]error), urgent: make(map[storage.ID]bool)}
		id := func(v int) storage.ID { return storage.ID{Version: uint64(v)} }
		const n = 1000
		first := f.add(id(1))
		for v := 2; v <= n; v++ {
			f.add(id(v))
		}
		var givenUp sync.WaitGroup
		givenUp.Go(func() { f.giveUp(context.Canceled) })
		<-first
		f.callOff(id(n))
		givenUp.Wait()
		require.ErrorIs(t, f.errorOf(id(n)), context.Canceled)
	}
}
