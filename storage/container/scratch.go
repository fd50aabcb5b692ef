package container

import (
	"context"
	"math/bits"
	"sync"

	"golang.org/x/sync/semaphore"
)

// scratchBudget bounds the bytes of decode buffers in use at a time in the
// whole process (a single buffer may be larger: two chunks of 64 MiB).
const scratchBudget = 24 << 20

var (
	scratchTokens = semaphore.NewWeighted(scratchBudget)
	scratchPools  [32]sync.Pool // of *[]byte, by the logarithm of their capacity
)

// scratch is a decode buffer.
type scratch struct {
	b      []byte
	ptr    *[]byte
	tokens int64
	class  int
}

// takeScratch waits for n bytes, n > 0, with unspecified contents. Whoever holds
// a scratch must not wait for another one.
func takeScratch(ctx context.Context, n int) (scratch, error) {
	class := bits.Len(uint(n - 1))
	s := scratch{class: class, tokens: min(int64(1)<<class, scratchBudget)}
	if err := scratchTokens.Acquire(ctx, s.tokens); err != nil {
		return scratch{}, err
	}
	if p, ok := scratchPools[class].Get().(*[]byte); ok {
		s.ptr = p
	} else {
		b := make([]byte, 1<<class)
		s.ptr = &b
	}
	s.b = (*s.ptr)[:n]
	return s, nil
}

func (s scratch) release() {
	scratchPools[s.class].Put(s.ptr)
	scratchTokens.Release(s.tokens)
}
