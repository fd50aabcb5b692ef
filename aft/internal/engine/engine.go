package engine

import (
	"context"
	"log/slog"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
	"github.com/craft-go/craft/aft/internal/embedded"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/step"
)

// session is that of this process.
var session struct {
	mu     sync.Mutex
	joined *comm.Session
}

// Join returns the session of this process. The first call joins the job, later
// ones return the same session; a call that failed may be made again. One of several
// tasks of a launcher that is not ours gets an error: see internal/step.
func Join(ctx context.Context, log *slog.Logger) (*comm.Session, error) {
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.joined != nil {
		return session.joined, nil
	}
	engine, err := join(ctx, log)
	if err != nil {
		return nil, err
	}
	session.joined = comm.NewSession(engine)
	return session.joined, nil
}

func join(ctx context.Context, log *slog.Logger) (driver.Session, error) {
	if env.CurrentRole() == env.RoleRank {
		return embedded.Join(ctx, log)
	}
	if err := step.Refuse(false); err != nil {
		return nil, err
	}
	return single.NewSession(), nil
}

// RunRanks runs n ranks as goroutines of this process, each with a session of
// its own.
func RunRanks(ctx context.Context, n int, body func(ctx context.Context, s *comm.Session) error) error {
	if err := step.Refuse(false); err != nil {
		return err
	}
	return embedded.RunInproc(ctx, embedded.InprocConfig{Ranks: n}, func(ctx context.Context, r *embedded.InprocRank) error {
		s := comm.NewSession(r.Session())
		defer s.Zone().Release()
		return body(comm.WithSession(ctx, s), s)
	})
}
