package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/matrixmarket"
)

// fingerprint is what makes two runs runs of the same problem. A checkpoint of
// another one is not used.
type fingerprint struct {
	Matrix   string  `json:"matrix"` // "graphene", or the SHA-256 of the file
	NX       int64   `json:"nx,omitempty"`
	NY       int64   `json:"ny,omitempty"`
	Disorder float64 `json:"disorder,omitempty"`
	Rows     int64   `json:"rows"`
	Seed     uint64  `json:"seed"`
}

// matrix gives every rank access to its rows. It is collective.
func (c config) matrix(ctx context.Context, group *comm.Comm) (krylov.Matrix, fingerprint, error) {
	if c.file == "" {
		l := c.lattice
		return l, fingerprint{
			Matrix: "graphene", NX: l.NX, NY: l.NY, Disorder: l.Disorder, Rows: l.Rows(), Seed: c.seed,
		}, nil
	}
	var whole *matrixmarket.Matrix
	digest := make([]byte, sha256.Size)
	if group.Rank() == 0 {
		var err error
		if whole, digest, err = readFile(c.file); err != nil {
			return nil, fingerprint{}, fmt.Errorf("read matrix %s: %w", c.file, err)
		}
	}
	if err := comm.Bcast(ctx, group, 0, digest); err != nil {
		return nil, fingerprint{}, err
	}
	ranges := func(rows int64, r comm.Rank) (lo, hi int64) {
		return krylov.Partition{Rows: rows, Ranks: group.Size()}.Range(r)
	}
	part, err := matrixmarket.Scatter(ctx, group, whole, ranges)
	if err != nil {
		return nil, fingerprint{}, err
	}
	return part, fingerprint{Matrix: "sha256:" + hex.EncodeToString(digest), Rows: part.Rows(), Seed: c.seed}, nil
}

// readFile reads a matrix and the SHA-256 of its file.
func readFile(path string) (*matrixmarket.Matrix, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	hash := sha256.New()
	tee := io.TeeReader(f, hash)
	m, err := matrixmarket.Read(tee)
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.Copy(io.Discard, tee); err != nil {
		return nil, nil, err
	}
	return m, hash.Sum(nil), nil
}
