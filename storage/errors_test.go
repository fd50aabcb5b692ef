package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// What is wrong or not there in some places says nothing while another one cannot be
// read now.
func TestJoinPlaces(t *testing.T) {
	gone, bad := fmt.Errorf("no file: %w", storage.ErrNotFound), fmt.Errorf("a checksum: %w", storage.ErrDamaged)
	later := fmt.Errorf("read: %w", syscall.EIO)
	for _, c := range []struct {
		errs     []error
		is, isNo []error
	}{
		{[]error{gone}, []error{storage.ErrNotFound}, nil},
		{[]error{gone, bad, nil}, []error{storage.ErrNotFound, storage.ErrDamaged}, nil},
		{[]error{later, gone}, []error{syscall.EIO}, []error{storage.ErrNotFound}},
		{[]error{bad, gone, fs.ErrPermission}, []error{fs.ErrPermission}, []error{storage.ErrNotFound, storage.ErrDamaged}},
		{[]error{bad, storage.JoinPlaces(gone, later)}, []error{syscall.EIO}, []error{storage.ErrNotFound, storage.ErrDamaged}},
		{[]error{bad, storage.JoinPlaces(gone, bad)}, []error{storage.ErrNotFound, storage.ErrDamaged}, []error{syscall.EIO}},
	} {
		err := storage.JoinPlaces(c.errs...)
		for _, is := range c.is {
			require.ErrorIs(t, err, is)
		}
		for _, isNo := range c.isNo {
			require.NotErrorIs(t, err, isNo)
		}
		for _, one := range c.errs {
			if one != nil {
				require.ErrorContains(t, err, one.Error())
			}
		}
		require.Equal(t, errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrPermission), storage.Passing(err), "%v", err)
	}
	require.NoError(t, storage.JoinPlaces())
	require.NoError(t, storage.JoinPlaces(nil, nil))
	require.False(t, storage.Passing(nil))
}
