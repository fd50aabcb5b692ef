package main

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/kmeans/dataset"
)

// input is what all ranks know of the points, whether they read any or not: who replaces another one need not find
// the file. It is zero before.
type input struct {
	total       int64
	dim         int
	fingerprint int64 // of the source
}

// describe is the input that a source has.
func describe(s dataset.Source) (in input) {
	in.total, in.dim = s.Size()
	in.fingerprint = s.Fingerprint()
	return in
}

// know has all ranks know the input: that of those who have been there before, or else what all find. It is collective.
func (w *worker) know(ctx context.Context, c *comm.Comm) error {
	most := []int64{w.input.total, int64(w.input.dim), w.input.fingerprint}
	if err := comm.Allreduce(ctx, c, most, most, comm.Max); err != nil {
		return err
	}
	if w.input = (input{most[0], int(most[1]), most[2]}); w.input.total == 0 {
		source, err := w.source()
		if err != nil {
			return err
		}
		w.input = describe(source)
		if err := w.same(ctx, c); err != nil {
			return err
		}
	}
	w.points.total, w.points.dim = w.input.total, w.input.dim
	return nil
}

// same returns an error, on all ranks, if one finds other points than another one. It is collective.
func (w *worker) same(ctx context.Context, c *comm.Comm) error {
	in := w.input
	most := []int64{in.total, int64(in.dim), in.fingerprint, -in.total, -int64(in.dim), -in.fingerprint}
	if err := comm.Allreduce(ctx, c, most, most, comm.Max); err != nil {
		return err
	}
	for i := range most[:3] {
		if most[i] != -most[3+i] {
			w.input = input{}
			return fmt.Errorf("%s is not the same file for all ranks: its size, the time of its last change or the points in it differ (a copy on each node keeps the time with cp -p)", w.file)
		}
	}
	return nil
}

// reader is where points are read, or made, of which nobody has a copy.
func (w *worker) reader() (dataset.Source, error) {
	source, err := w.source()
	if err == nil && describe(source) != w.input {
		err = fmt.Errorf("%s: %w", w.file, dataset.ErrChanged)
	}
	return source, err
}
