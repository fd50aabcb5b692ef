package comm_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
)

// evicting is a session that notes how it was to end.
type evicting struct {
	driver.Session
	why    error
	leaves []driver.Bequest
}

func (*evicting) Quit(string) {}

func (e *evicting) Evict(why error, leaves []driver.Bequest) { e.why, e.leaves = why, leaves }

// held is kept, and can be left as soon as a lock is free.
type held struct{ free chan struct{} }

func (held) Rebind(*comm.Comm, comm.Change) error { return nil }
func (held) Close() error                         { return nil }

func (h held) Bequeath() (string, []comm.Memory) {
	<-h.free
	return "held", []comm.Memory{{PID: 7}}
}

// TestEvict: what a process keeps is left to another one; if that takes too long, it is lost, and the reason says so.
func TestEvict(t *testing.T) {
	for name, late := range map[string]bool{"at once": false, "a lock that is held": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := &evicting{Session: single.NewSession()}
				s := comm.NewSession(engine)
				h := held{make(chan struct{})}
				_, err := comm.Keep(s, "it", func() (held, error) { return h, nil })
				require.NoError(t, err)
				stuck := errors.New("the body is stuck")
				if late {
					defer close(h.free)
				} else {
					close(h.free)
				}
				s.Zone().Evict(stuck)
				require.ErrorIs(t, engine.why, stuck)
				if late {
					require.Empty(t, engine.leaves)
					require.EqualError(t, engine.why, "the body is stuck; what it keeps in memory could not be handed over within 1s")
					return
				}
				require.Equal(t, stuck, engine.why)
				require.Equal(t, []driver.Bequest{{Name: "held", Memory: []comm.Memory{{PID: 7}}}}, engine.leaves)
			})
		})
	}
}
