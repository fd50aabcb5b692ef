package comm

import "context"

// Barrier returns when every rank has called it.
func Barrier(ctx context.Context, c Comm) error {
	return wrap("Barrier", dissemination(c, func(dst, src Rank, _, _ int) error {
		_, err := exchange(ctx, c, tagBarrier, dst, nil, src, nil)
		return err
	}))
}
