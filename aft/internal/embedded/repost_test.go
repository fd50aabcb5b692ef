package embedded

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// These tests are about receives whose message was taken back by its sender after
// they had been matched.

// offer is an announced message that its sender takes back when the test says so.
type offer struct {
	ep      *endpoint
	started *receive
	cancels int
	onStart func()
}

func (o *offer) refuse() {}

func (o *offer) into(r *receive) inbound {
	o.started = r
	return o
}

func (o *offer) start() {
	if o.onStart != nil {
		o.onStart()
	}
}

// cancel: the message is taken back just before the receive is given up.
func (o *offer) cancel(error) {
	o.cancels++
	o.takeBack()
}

func (o *offer) takeBack() {
	if r := o.started; r != nil {
		o.started = nil
		o.ep.repost(r)
	}
}

// offered is a process of three, the receives that it has posted, and an
// announced message of rank 1 with tag 7 that the last of them was matched with.
func offered(receives ...receive) (*mailbox, []*request, *offer) {
	b := newEndpoint(0, 0).ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1, 2}}, 0)
	o := &offer{ep: b.ep}
	var requests []*request
	for i, r := range receives {
		if i == len(receives)-1 {
			b.ep.announce(envelope{comm: 1, source: 1, tag: 7, length: 100_000}, o)
		}
		requests = append(requests, b.receive(r.source, r.tag, make([]byte, 8)).(*request))
	}
	return b, requests, o
}

// TestBothGiveUp: the receive is given up while its message is taken back.
func TestBothGiveUp(t *testing.T) {
	b, r, o := offered(receive{source: 1, tag: 7})
	givenUp := errors.New("given up")
	b.withdraw(r[0], givenUp)
	require.Equal(t, 1, o.cancels)
	require.True(t, r[0].done())
	require.ErrorIs(t, r[0].err, givenUp)
}

// TestTakenBackAtItsStart: a message is taken back by whoever reads the link while the
// receive is being matched with it, and the receive gets the next one: of that it is
// given up.
func TestTakenBackAtItsStart(t *testing.T) {
	for range 200 { // the race detector needs both orders
		b := newEndpoint(0, 0).ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1, 2}}, 0)
		var reader sync.WaitGroup
		first, next := &offer{ep: b.ep}, &offer{ep: b.ep}
		first.onStart = func() {
			reader.Go(first.takeBack)
			runtime.Gosched()
		}
		next.onStart = func() { next.started = nil } // it is not taken back
		for _, o := range []*offer{first, next} {
			b.ep.announce(envelope{comm: 1, source: 1, tag: 7, length: 100_000}, o)
		}
		r := b.receive(1, 7, make([]byte, 8)).(*request)
		reader.Wait()
		b.withdraw(r, errors.New("given up"))
		require.Zero(t, first.cancels)
		require.Equal(t, 1, next.cancels)
	}
}

// TestReceiveGoesBackToItsPlace: behind those that were posted before it, also
// when its message was there first, and as often as that happens.
func TestReceiveGoesBackToItsPlace(t *testing.T) {
	b, r, o := offered(receive{source: 1, tag: 5}, receive{source: driver.AnySource, tag: driver.AnyTag})
	for range 2 {
		o.takeBack()
		b.ep.announce(envelope{comm: 1, source: 1, tag: 7, length: 100_000}, o)
		require.NotNil(t, o.started)
	}
	o.takeBack()
	b.ep.arrive(envelope{comm: 1, source: 1, tag: 5}, nil, credits{})
	require.True(t, r[0].done(), "the older receive has been passed over")
	require.False(t, r[1].done())
}

// TestReceiveGoesBackBeforeNewerOnes: of the same source and tag.
func TestReceiveGoesBackBeforeNewerOnes(t *testing.T) {
	b, r, o := offered(receive{source: 1, tag: 7})
	newer := b.receive(1, 7, make([]byte, 8)).(*request)
	o.takeBack()
	b.ep.arrive(envelope{comm: 1, source: 1, tag: 7}, nil, credits{})
	require.True(t, r[0].done(), "the older receive has been passed over")
	require.False(t, newer.done())
}

type credits struct{}

func (credits) consumed(int) {}

// TestReceiveGoesBackAfterAFailure: one from any source that was not there when
// a process failed fails when it comes back.
func TestReceiveGoesBackAfterAFailure(t *testing.T) {
	b, r, o := offered(receive{source: driver.AnySource, tag: 7})
	b.ep.lose([]control.Proc{2}, failed)
	require.False(t, r[0].done(), "its message may come")
	o.takeBack()
	require.True(t, r[0].done())
	require.Equal(t, &driver.FailedError{Ranks: []int{2}}, r[0].err)
}

// TestReceiveGoesBackToTheLastOne: nobody is left to send.
func TestReceiveGoesBackToTheLastOne(t *testing.T) {
	b, r, o := offered(receive{source: driver.AnySource, tag: 7})
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := r[0].Wait(ctx)
		ended <- err
	}()
	require.Eventually(t, func() bool { return r[0].state.Load() == awaited }, wireDeadline, time.Millisecond)
	b.ep.lose([]control.Proc{1, 2}, left)
	o.takeBack()
	require.Equal(t, &driver.FailedError{Ranks: []int{1, 2}}, <-ended)
}

// TestTakenIsNotReposted: of a message that is taken back in the middle, which a revocation
// does, a receive that has taken a part of it gets no other one.
func TestTakenIsNotReposted(t *testing.T) {
	b := newEndpoint(0, 0).ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
	r := b.post(receive{source: 1, tag: 7, take: func([]byte) {}, limit: 8}).(*request)
	require.True(t, r.recv.place.leave())
	l := &inlink{streams: map[uint64]*instream{3: {id: 3, want: 8, got: 4, receive: &r.recv}}}
	require.NoError(t, l.giveBack(3))
	_, err := r.Wait(t.Context())
	require.ErrorIs(t, err, driver.ErrRevoked)
}
