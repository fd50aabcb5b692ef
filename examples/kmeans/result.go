package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// result is what the program prints. The names of the fields are those of the
// JSON object.
type result struct {
	Centres    [][]float64 `json:"centres"`
	Sizes      []int64     `json:"sizes"`   // numbers of points, in the order of the centres
	Inertia    float64     `json:"inertia"` // sum of the squared distances of points from their centres
	Points     int64       `json:"points"`
	Dim        int         `json:"dim"`
	Iterations int         `json:"iterations"`
	Recoveries int         `json:"recoveries"`
	Ranks      int         `json:"ranks"` // that are left
	Copies     int         `json:"copies"`
	Restored   int64       `json:"points_restored"` // from the memory of other ranks
	Anew       int64       `json:"points_anew"`     // made or read again
	Seconds    float64     `json:"seconds"`
	Recovery   float64     `json:"rec"` // seconds, the largest of any rank
	Restore    restore     `json:"restore"`
	Percent    float64     `json:"restore_percent"` // of seconds
	Digest     string      `json:"digest"`          // SHA-256 of centres, sizes and inertia

	sample  []sampled // for the picture
	elapsed float64   // seconds since the beginning, on the rank that has begun first
}

// restore is the time in functions of the store: seconds, the largest of any rank.
type restore struct {
	Open   float64 `json:"open"`
	Submit float64 `json:"submit"`
	Load   float64 `json:"load"`
	Repair float64 `json:"repair"`
}

// finish makes the result. It is collective.
func (w *worker) finish(ctx context.Context, z *aft.Zone, sums *lloyd.Sums) error {
	c, t := z.Comm(), w.restore
	longest := []float64{t.open.Seconds(), t.submit.Seconds(), t.load.Seconds(), t.repair.Seconds(), z.Stats().Recovery.Seconds(), time.Since(w.began).Seconds()}
	if err := comm.Allreduce(ctx, c, longest, longest, comm.Max); err != nil {
		return err
	}
	got := []int64{w.counts.restored, w.counts.anew}
	if err := comm.Allreduce(ctx, c, got, got, comm.Sum); err != nil {
		return err
	}
	sample, err := w.sample(ctx, c)
	if err != nil || w.rank != 0 {
		return err
	}
	w.result = result{
		Centres: slices.Collect(slices.Chunk(w.state.centres, w.points.dim)),
		Sizes:   sums.Sizes(),
		Inertia: sums.Inertia(),
		Points:  w.points.total, Dim: w.points.dim,
		Iterations: w.state.next,
		Recoveries: z.Epoch(),
		Ranks:      c.Size(),
		Copies:     w.state.copies,
		Restored:   got[0], Anew: got[1],
		Recovery: longest[4],
		Restore:  restore{longest[0], longest[1], longest[2], longest[3]},
		Digest:   digest(w.state.centres, sums),
		sample:   sample,
		elapsed:  longest[5],
	}
	return nil
}

// digest is the SHA-256, in hexadecimal, of the coordinates of all centres as
// little-endian float64, the sizes of the clusters as little-endian uint64, and the
// inertia as float64.
func digest(centres []float64, sums *lloyd.Sums) string {
	hash := sha256.New()
	for _, part := range []any{centres, sums.Sizes(), sums.Inertia()} {
		_ = binary.Write(hash, binary.LittleEndian, part) // a hash takes everything
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// over fills in what depends on the wall-clock time of the run. A rank that has replaced
// another one has not seen all of it.
func (r *result) over(wall time.Duration) {
	r.Seconds = max(wall.Seconds(), r.elapsed)
	r.Percent = 100 * (r.Restore.Open + r.Restore.Submit + r.Restore.Load + r.Restore.Repair) / r.Seconds
}
