package engine

import (
	"context"
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
)

func joinEmbedded(ctx context.Context, log *slog.Logger) (comm.Session, error) {
	return embedded.Join(ctx, log)
}

func runEmbedded(ctx context.Context, n int, body func(context.Context, comm.Session) error) error {
	return embedded.RunSessions(ctx, n, body)
}
