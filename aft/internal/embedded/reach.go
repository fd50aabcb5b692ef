package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/internal/pipe"
)

// minPatience is how long a process tries to reach another one at least. Whoever has
// died is reported long before.
const minPatience = 10 * time.Second

// reach connects to the process, at the first of its addresses where it is.
//
// That nobody answers there is no sign of its death, which the root would tell: its
// listener may be overrun, a name may lead elsewhere, this process may have no file
// to spare. So it is tried again, until the root has given the process up or patience
// is over; then it is an error of this process, ErrUnreachable. The silence of a whole
// host is another matter, and for the root to judge.
func (l *outlink) reach(ctx context.Context, addresses []pipe.Address) (*pipe.Writer, error) {
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		p, errs := pipe.Dial(ctx, l.wire.cfg.Config, uint32(l.to), addresses)
		if p != nil {
			return p, nil
		}
		if why := pipe.Silence(addresses, errs); why != nil {
			return nil, why
		}
		why := errors.Join(errs...)
		if ctx.Err() == nil && time.Since(began) >= l.wire.cfg.Patience {
			return nil, fmt.Errorf("%w (tried for %v): %w", ErrUnreachable, l.wire.cfg.Patience, why)
		}
		select {
		case <-ctx.Done():
			return nil, why
		case <-time.After(pause):
		}
	}
}

// forget gives up a process that cannot be reached. All communicators end first:
// what was to be sent is lost, and nothing that comes after it may arrive. The process
// is tried anew when there is something to say to it on another one.
func (w *wire) forget(l *outlink, why error) {
	w.cfg.Unreachable(why)
	w.forgetOut(l)
	l.end(linkGone, func(*request) error { return why })
}
