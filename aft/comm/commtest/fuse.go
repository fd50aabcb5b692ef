package commtest

import (
	"context"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
)

// fuse is a communicator whose operations fail after the first one that has been
// hit by a failure: a program does not go on with its next collective either, but
// many trials only look at their errors at the end.
type fuse struct {
	comm.Comm
	blown atomic.Pointer[error]
}

// fused runs a body on a fuse.
func fused(body func(context.Context, comm.Comm) error) func(context.Context, comm.Comm) error {
	return func(ctx context.Context, c comm.Comm) error { return body(ctx, &fuse{Comm: c}) }
}

func (f *fuse) Isend(dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	if err := f.blown.Load(); err != nil {
		return comm.FailedRequest(*err)
	}
	return fuseRequest{f, f.Comm.Isend(dst, tag, data)}
}

func (f *fuse) Irecv(src comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	if err := f.blown.Load(); err != nil {
		return comm.FailedRequest(*err)
	}
	return fuseRequest{f, f.Comm.Irecv(src, tag, buf)}
}

type fuseRequest struct {
	fuse *fuse
	comm.Request
}

func (r fuseRequest) Wait(ctx context.Context) (comm.Status, error) {
	st, err := r.Request.Wait(ctx)
	if err != nil && gone("", err) == nil {
		r.fuse.blown.CompareAndSwap(nil, &err)
	}
	return st, err
}
