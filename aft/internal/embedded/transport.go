package embedded

import (
	"context"

	"github.com/craft-go/craft/aft/internal/control"
)

// envelope is what a message is told by.
type envelope struct {
	comm   control.CommID
	source int // in comm
	tag    int
	length int // of the data, in bytes
}

// transport carries messages to other processes. None of its methods blocks.
type transport interface {
	// send starts to send data. It completes r when data is not needed any more:
	// at once when data was taken over, later when the receiver has got it, or
	// with an error. r.out belongs to the transport.
	send(to control.Proc, e envelope, data pieces, r *request)
	// cancel gives up a send that r is for: r is completed, with err unless it
	// was complete before, and its data is not touched after cancel has returned.
	cancel(r *request, err error)
	// spin helps until r is done, ctx has ended or it is better to sleep, and reports
	// whether r is done.
	spin(ctx context.Context, r *request) bool
	// drop forgets a process that takes part no more. What has arrived from it is
	// delivered first; then what is under way to and from it is completed with a
	// FailedError (request.failedError).
	drop(p control.Proc)
	// deliver delivers what has arrived from a process.
	deliver(p control.Proc)
	// takeBack completes the sends to a process whose body has returned, and which has
	// not asked for their data, with an error.
	takeBack(p control.Proc)
	// revoke completes all sends and inbound streams of a communicator that have begun
	// with an error: driver.ErrRevoked, or this process's own. The communicator begins
	// nothing more, see mailbox.started.
	revoke(c control.CommID, why error)
}

// receiver is what a transport brings messages to: the process's endpoint. Its
// methods may be called by any goroutine; messages of one sender in their order.
type receiver interface {
	// arrive delivers a whole message; data is copied before it returns. The
	// bytes count against the sender's credit until from.consumed is called for
	// them, which may be during the call.
	arrive(e envelope, data []byte, from creditor)
	// announce delivers a message whose data is still with its sender. When a
	// receive has been found for it, its way into it is started, without locks.
	announce(e envelope, m announced)
	// repost puts a receive back that start was called for, because its message
	// was withdrawn by the sender: at its old place in the order of receives.
	repost(r *receive)
	// withdraw takes an announced message away that start was not called for:
	// its sender has given it up. If start is being called at the same time, that
	// call ends in repost or in a completed receive.
	withdraw(m announced)
	// lost is withdraw when the sender has failed: what it has sent behind m on the
	// communicator goes too, so that no receive gets a later message in the place
	// of a lost one.
	lost(e envelope, m announced)
}

// creditor gets its eager bytes back when they are not buffered any more.
type creditor interface {
	// consumed is told the eagerPrice of what has gone.
	consumed(bytes int)
}

// announced is a message that waits for its receive with its sender.
type announced interface {
	// into is the way of its data into the receive, which has left the matcher: the
	// transport completes r.request.
	into(r *receive) inbound
	// refuse gives it up, because nobody will ever receive it: the send is completed
	// with the error that belongs to a revoked communicator or to a process that
	// has left; in another process its own endpoint sees to that.
	refuse()
}

// inbound is a message whose data is arriving in a receive's buffer.
type inbound interface {
	// start has the data sent. It is called once and without locks, also when the
	// receive has been given up by then.
	start()
	// cancel completes the receive with err unless it is complete. After it has
	// returned the buffer is not touched; data that still arrives is dropped. If the
	// sender has withdrawn the message the receive goes back through repost, and ends
	// there. It is called without locks.
	cancel(err error)
}
