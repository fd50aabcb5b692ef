package erasure

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// A member that has answered what is given to it, and gives nothing itself, goes away: who
// waits for its part is told by nothing that is given to it any more.
func TestMemberGoesAfterItsAnswer(t *testing.T) {
	const holder, gone, giver = 0, 1, 2
	id := idOf(1)
	for name, goes := range map[string]func(m *member){
		"it dies": func(m *member) { m.f.Die() },
		"it closes at once": func(m *member) {
			ctx, cancel := context.WithCancel(m.ctx)
			cancel()
			_, _ = m.scheme.Close(ctx), m.service.Close(ctx)
		},
		"it closes in order": func(m *member) {
			_, _ = m.scheme.Close(m.ctx), m.service.Close(m.ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTrial(t, 3, 1)
			created, giving := make(chan struct{}), make(chan struct{})
			x.play(func(m *member) {
				to := func(rank int) storage.PartWriter {
					w, err := m.service.Create(m.ctx, comm.Rank(rank), m.scheme.name(id, m.part(m.me)))
					require.NoError(m.t, err)
					return w
				}
				switch m.me {
				case holder:
					w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
					require.NoError(m.t, err)
					close(created)
					if err := w.Commit(); !isGivenUp(err) {
						t.Errorf("holder: %v", err)
					}
				case gone:
					<-created
					require.Eventually(m.t, func() bool {
						m.scheme.mu.Lock()
						defer m.scheme.mu.Unlock()
						return m.scheme.ended.find(version{id, m.size()}) != nil && !m.service.Serving()
					}, patience, 1e6)
					_, err := m.service.Create(m.ctx, holder, "its answer is there")
					require.ErrorContains(m.t, err, "no part")
					<-giving // else its part may be refused
					goes(m)
				case giver: // gives its part to the holder alone
					<-created
					require.NoError(m.t, to(gone).Abort())
					w := to(holder)
					close(giving)
					h := m.scheme.header(m.me, version{id, m.size()})
					_, err := w.Write(append(appendHeader(nil, &h), make([]byte, streamTrailer)...))
					require.NoError(m.t, err)
					require.Error(m.t, w.Commit())
				}
			})
		})
	}
}
