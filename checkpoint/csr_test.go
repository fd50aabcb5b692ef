package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

// band is the rows lo to hi of a matrix whose elements tell where they are, with
// one to three in each row.
func band(lo, hi, cols int) cptypes.CSR[float64, int32] {
	m := cptypes.CSR[float64, int32]{Rows: hi - lo, Cols: cols, RowPtr: []int32{0}}
	for i := lo; i < hi; i++ {
		for j := range i%3 + 1 {
			m.ColIdx = append(m.ColIdx, int32((i+j)%cols))
			m.Val = append(m.Val, float64(1000*i+j))
		}
		m.RowPtr = append(m.RowPtr, int32(len(m.Val)))
	}
	return m
}

// A sparse matrix comes back in every mode, as a value of each rank and as one that is
// the same on all, small and spread over the files, also in structs, into the zero
// matrix and into one of its shape, and if it may on another number of ranks.
func TestCSR(t *testing.T) {
	for _, mode := range sample(t, modes, 1) {
		for _, rows := range []int{7, 9_000} {
			// The number of ranks that read is the number of goroutines that do the same.
			for _, ranks := range sample(t, [][2]int{{3, 3}, {3, 2}, {1, 1}, {2, 5}}[:min(4, 2+20/rows)], 1) {
				t.Run(fmt.Sprint(mode, rows, ranks), func(t *testing.T) {
					dir := t.TempDir()
					require.NoError(t, csrJob(t, dir, mode, rows, ranks[0], false, ranks[0] == ranks[1]))
					for _, zero := range []bool{true, false} {
						require.NoError(t, csrJob(t, dir, mode, rows, ranks[1], zero, ranks[0] == ranks[1]))
					}
				})
			}
		}
	}
}

type csrFields struct {
	Matrix  cptypes.CSR[float64, int32]
	Pointer *cptypes.CSR[float64, int32]
	List    []cptypes.CSR[float64, int32]
}

// csrJob is a job that writes three versions or, if there are any, compares the last
// one with what it was.
func csrJob(t *testing.T, dir, mode string, rows, ranks int, zero, local bool) error {
	return afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		cp, err := New("csr", c, WithPath(dir), WithSync(SyncNone), inMode(mode), WithDelta(3))
		if err != nil {
			return err
		}
		defer cp.Close()
		var mine, shared, fields = band(0, rows+int(c.Rank()), 9), band(0, rows, 5), csrFields{}
		wantMine, wantShared := mine, shared
		wantShared.Val = slices.Clone(shared.Val)
		wantShared.Val[0] = 2
		pointer := band(1, rows, 4)
		wantFields := csrFields{wantShared, &pointer, []cptypes.CSR[float64, int32]{pointer, wantShared}}
		mine.Val = slices.Clone(mine.Val)
		mine.Val[0] = -1
		if zero {
			mine, shared = cptypes.CSR[float64, int32]{}, cptypes.CSR[float64, int32]{}
		}
		if local {
			err = cp.Add("mine", &mine)
		}
		iter := 0
		err = errors.Join(err, cp.Add("shared", cptypes.Replicated(&shared)), cp.Add("fields", cptypes.Replicated(&fields)), cp.Commit())
		if err == nil {
			err = cp.RestartIfNeeded(ctx, &iter)
		}
		switch {
		case err != nil:
			return err
		case iter == 0:
			for mine.Val[0] = wantMine.Val[0]; iter < 3 && err == nil; iter++ {
				shared.Val[0] = float64(iter)
				fields = csrFields{shared, &pointer, []cptypes.CSR[float64, int32]{pointer, shared}}
				err = errors.Join(cp.UpdateAndWrite(ctx, iter, 1), cp.Wait(ctx))
			}
			return errors.Join(err, cp.Close())
		}
		same := iter == 3 && reflect.DeepEqual(wantShared, shared) && reflect.DeepEqual(wantFields, fields)
		if !same || local && !reflect.DeepEqual(wantMine, mine) {
			return fmt.Errorf("rank %d has other matrices", c.Rank())
		}
		return nil
	})
}

// A matrix that belongs to its rank is not read by another number of ranks.
func TestLocalCSROnOtherRanks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, csrJob(t, dir, "off", 7, 3, false, true))
	err := csrJob(t, dir, "off", 7, 2, true, true)
	require.ErrorIs(t, err, ErrRanks)
	require.ErrorContains(t, err, `key "mine"`)
}
