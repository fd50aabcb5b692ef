package aft

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What has failed on this rank alone is told by this rank, whatever else is in the error.
func TestToldElsewhere(t *testing.T) {
	there, here := &BodyError{Rank: 1, Text: "there", elsewhere: true}, errors.New("here")
	for _, err := range []error{there, fmt.Errorf("around: %w", there), errors.Join(there, there), fmt.Errorf("%w, %w", there, there)} {
		require.True(t, toldElsewhere(err), "%v", err)
	}
	for _, err := range []error{nil, here, &BodyError{Err: here}, errors.Join(there, here), fmt.Errorf("%w: %w", here, there)} {
		require.False(t, toldElsewhere(err), "%v", err)
	}
}
