package placement

import (
	"context"

	"github.com/craft-go/craft/storage"
)

// Scheme protects the parts of this rank on other nodes.
type Scheme interface {
	// Create starts the protection of a part, which gets the bytes that the part's
	// own file gets. Commit returns nil when they are safe.
	Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error)
	// Skip tells the others, who may be waiting for it, that this rank does not
	// write its part.
	Skip(ctx context.Context, id storage.ID, part storage.Part) error
}
