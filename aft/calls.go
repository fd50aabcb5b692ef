package aft

import (
	"fmt"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// calls counts the zones of a session.
type calls struct {
	zones   int
	running bool
}

var (
	callsMu sync.Mutex
	callsOf = make(map[comm.Session]*calls)
)

// enter numbers a call of Run on a session, from 0.
func enter(s comm.Session) (index int, leave func(), err error) {
	callsMu.Lock()
	defer callsMu.Unlock()
	c := callsOf[s]
	if c == nil {
		c = new(calls)
		callsOf[s] = c
	}
	if c.running {
		return 0, nil, fmt.Errorf("%w: Run was called while a zone runs: zones follow one another", ErrArgument)
	}
	c.running = true
	c.zones++
	return c.zones - 1, func() {
		callsMu.Lock()
		defer callsMu.Unlock()
		c.running = false
	}, nil
}

// forget drops the count of a session that is used no more.
func forget(s comm.Session) {
	callsMu.Lock()
	defer callsMu.Unlock()
	delete(callsOf, s)
}
