package commtest

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
)

var errBlown = errors.New("an operation before has failed")

// fused runs a body whose context ends with the first collective of it that has been hit
// by a failure: a program does not go on with its next collective either, but many trials
// only look at their errors at the end.
func fused(body func(context.Context, *comm.Comm) error) func(context.Context, *comm.Comm) error {
	return func(ctx context.Context, c *comm.Comm) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		first := make(chan error, 1)
		blow := func(err error) {
			if err != nil && gone("", err) == nil {
				select {
				case first <- err:
				default:
				}
				cancel(errBlown)
			}
		}
		defer c.Session().Observe(&comm.Observer{
			Collective: func(comm.Collective) func(error) { return blow },
		})()
		err := body(ctx, c)
		select {
		case cause := <-first:
			return cause
		default:
			return err
		}
	}
}
