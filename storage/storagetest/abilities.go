package storagetest

import (
	"context"

	"github.com/craft-go/craft/storage"
)

// ReadMetadata implements storage.MetadataStore; a driver that keeps no notes has none.
func (d *intercepted) ReadMetadata(ctx context.Context, name string) ([]byte, error) {
	if n, ok := d.Driver.(storage.MetadataStore); ok {
		return n.ReadMetadata(ctx, name)
	}
	return nil, nil
}

// WriteMetadata implements storage.MetadataStore.
func (d *intercepted) WriteMetadata(ctx context.Context, name string, data []byte) error {
	if n, ok := d.Driver.(storage.MetadataStore); ok {
		return n.WriteMetadata(ctx, name, data)
	}
	return nil
}
