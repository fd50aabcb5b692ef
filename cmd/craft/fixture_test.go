package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

const arrayLength = 1000

// write runs a job of some ranks that writes versions of iterations 0, 10, ...
func write(t *testing.T, base, name string, ranks, versions int) {
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		lo, hi := int(c.Rank())*arrayLength/ranks, (int(c.Rank())+1)*arrayLength/ranks
		v := make([]float64, hi-lo)
		for i := range v {
			v[i] = float64(lo+i) + 0.5
		}
		shared := make([]float64, 20_000) // split over the files
		steps, title, names, on := int64(-7), "grüße\x1b[31m", []string{"a", "bc"}, true
		cp, err := checkpoint.New(name, c, checkpoint.WithPath(base), checkpoint.WithKeep(10), checkpoint.WithSync(checkpoint.SyncNone),
			checkpoint.WithFingerprint(map[string]any{"nx": 4, "seed": "s"}), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		err = errors.Join(cp.Add("v", cptypes.Partitioned(&v, lo, hi, arrayLength)), cp.Add("shared", cptypes.Replicated(&shared)),
			cp.Add("steps", &steps), cp.Add("title", &title), cp.Add("names", &names), cp.Add("on", &on), cp.Commit())
		var iter int
		if err == nil {
			err = cp.RestartIfNeeded(ctx, nil)
		}
		for ; err == nil && iter < versions; iter++ {
			err = cp.UpdateAndWrite(ctx, 10*iter, 10)
		}
		return errors.Join(err, cp.Close())
	})
	require.NoError(t, err)
}

// result is what a command line gave.
type result struct {
	code           int
	stdout, stderr string
}

// patience is how long craft unlock watches.
var patience = 30 * time.Millisecond

func craft(t *testing.T, args ...string) result { return craftOn(t, vfs.OS(), 0, args...) }

func craftOn(t *testing.T, fsys vfs.FS, width int, args ...string) result {
	var out, errs bytes.Buffer
	p := &program{screen: screen{stdout: &out, stderr: &errs, width: width, now: time.Now}, fs: fsys, lock: filestore.LockConfig{Patience: patience}}
	code := p.run(t.Context(), args)
	return result{code, out.String(), errs.String()}
}

// decode runs a command with --json.
func decode[T any](t *testing.T, code int, args ...string) T {
	r := craft(t, append(args, "--json")...)
	require.Equal(t, code, r.code, "%s", r.stderr)
	var document T
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &document), "%s", r.stdout)
	return document
}

// parts lists the files of a version, which counts from 1, by rank.
func parts(t *testing.T, dir string, version int) []string {
	dirs, err := filepath.Glob(filepath.Join(dir, "v-*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(dirs), version)
	files, err := filepath.Glob(filepath.Join(dirs[version-1], "*.craft"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func edit(t *testing.T, file string, change func([]byte) []byte) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, change(data), 0o600))
}
