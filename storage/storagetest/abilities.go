package storagetest

import (
	"context"

	"github.com/craft-go/craft/storage"
)

// Lock implements storage.Locker; a driver without a lock is always free.
func (d *intercepted) Lock(ctx context.Context) (storage.Lock, error) {
	if l, ok := d.Driver.(storage.Locker); ok {
		return l.Lock(ctx)
	}
	return freeLock{}, nil
}

type freeLock struct{}

func (freeLock) Check() error  { return nil }
func (freeLock) Unlock() error { return nil }

// Announce implements storage.Announcer.
func (d *intercepted) Announce(ctx context.Context, latest storage.Latest) error {
	if a, ok := d.Driver.(storage.Announcer); ok {
		return a.Announce(ctx, latest)
	}
	return nil
}

// Announced implements storage.Announcer.
func (d *intercepted) Announced(ctx context.Context) (*storage.Latest, error) {
	if a, ok := d.Driver.(storage.Announcer); ok {
		return a.Announced(ctx)
	}
	return nil, nil
}

// Record implements storage.Recorder.
func (d *intercepted) Record(ctx context.Context, r storage.Record) error {
	if recorder, ok := d.Driver.(storage.Recorder); ok {
		return recorder.Record(ctx, r)
	}
	return nil
}

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
