package placement

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/manifest"
)

// readManifest tells all ranks what the home says, and which job they are. A home without a
// manifest gets a new identity: what nodes may have of one that was deleted does not belong
// to it.
func readManifest(ctx context.Context, c *Config) (*manifest.Writer, error) {
	var shared struct {
		Manifest manifest.Manifest
		Stored   bool
		Job      string
		Err      string
	}
	if c.Carried != "" {
		return manifest.NewWriter(manifest.New(c.Carried), true), nil
	}
	var problem error
	if home, ok := c.Home.(storage.MetadataStore); ok && c.Comm.Rank() == 0 {
		shared.Manifest, shared.Stored, problem = manifest.Read(ctx, home)
		if problem == nil && !shared.Stored {
			var id [8]byte
			_, _ = rand.Read(id[:]) // never fails
			shared.Manifest = manifest.New(hex.EncodeToString(id[:]))
		}
	}
	shared.Job, shared.Err = c.Job, text(problem)
	data, err := json.Marshal(shared)
	if err != nil {
		return nil, err
	}
	if data, err = comm.BcastBytes(ctx, c.Comm, 0, data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &shared); err != nil {
		return nil, err
	}
	switch {
	case problem != nil:
		return nil, problem
	case shared.Err != "":
		return nil, &RankError{Rank: 0, Text: shared.Err}
	}
	c.Job = shared.Job
	return manifest.NewWriter(shared.Manifest, shared.Stored), nil
}

// readOthersManifest reads, on rank 0, what jobs with nodes have noted, for a job without.
// It is as good without that: doubt is why it is not known.
func readOthersManifest(ctx context.Context, from storage.Driver) (w *manifest.Writer, doubt string, err error) {
	var m manifest.Manifest
	if home, ok := from.(storage.MetadataStore); ok {
		m, _, err = manifest.Read(ctx, home)
	}
	if errors.Is(err, manifest.ErrInvalid) {
		doubt, err = err.Error(), nil
	}
	return manifest.NewWriter(m, true), doubt, err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
