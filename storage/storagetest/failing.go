package storagetest

import (
	"context"

	"github.com/craft-go/craft/storage"
)

// Failing wraps a driver so that fail is asked before every operation: what it
// returns is the operation's error, and nothing is done then, but that a part
// whose Commit or Abort fails is thrown away, and a reader closed. fail may be
// called concurrently.
func Failing(d storage.Driver, fail func(Op) error) storage.Driver {
	return &intercepted{Driver: d, before: func(_ context.Context, op Op) error { return fail(op) }}
}
