package comm

import "context"

// Barrier returns when every rank has called it.
func Barrier(ctx context.Context, c *Comm) error {
	k := c.begin(ctx, "Barrier", tagBarrier)
	return k.end(dissemination(c, func(dst, src Rank, _, _ int) error {
		_, err := k.exchange(dst, nil, src, nil)
		return err
	}))
}
