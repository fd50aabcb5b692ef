package halo

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/hydro/boxes"
	"github.com/craft-go/craft/examples/hydro/lagrange"
)

// exchange is what the messages with a tag have: one to and one from each neighbour.
type exchange struct {
	tag    comm.Tag
	routes []route
}

// route leads to one neighbour and back.
type route struct {
	peer       comm.Rank
	send, recv []int     // places in an array
	out, in    []float64 // three numbers for each
}

func newExchange(own comm.Rank, tag comm.Tag, all []boxes.Box, list list) exchange {
	e := exchange{tag: tag}
	for r, box := range all {
		if comm.Rank(r) == own {
			continue
		}
		send, recv := list(all[own], box), list(box, all[own])
		if len(send)+len(recv) > 0 {
			e.routes = append(e.routes, route{comm.Rank(r), send, recv, make([]float64, 3*len(send)), make([]float64, 3*len(recv))})
		}
	}
	return e
}

// run sends values of an array to the neighbours and puts theirs in their places. All
// messages are under way at the same time.
func (e *exchange) run(ctx context.Context, c *comm.Comm, values []lagrange.Vec) error {
	var requests []comm.Request
	for _, r := range e.routes {
		if len(r.recv) > 0 {
			requests = append(requests, comm.Irecv(c, r.peer, e.tag, r.in))
		}
	}
	for _, r := range e.routes {
		if len(r.send) > 0 {
			r.pack(values)
			requests = append(requests, comm.Isend(c, r.peer, e.tag, r.out))
		}
	}
	if err := comm.WaitAll(ctx, requests...); err != nil {
		return err
	}
	for _, r := range e.routes {
		r.unpack(values)
	}
	return nil
}

func (r *route) pack(values []lagrange.Vec) {
	for i, at := range r.send {
		v := values[at]
		r.out[3*i], r.out[3*i+1], r.out[3*i+2] = v.X, v.Y, v.Z
	}
}

func (r *route) unpack(values []lagrange.Vec) {
	for i, at := range r.recv {
		values[at] = lagrange.Vec{X: r.in[3*i], Y: r.in[3*i+1], Z: r.in[3*i+2]}
	}
}
