//go:build !linux

package async

import (
	"errors"
	"time"
)

func affinity() ([]int, error) {
	return nil, errors.New("threads cannot be bound to processors on this system (allowed: an empty list)")
}

func bind([]int) error { return errors.ErrUnsupported }

func threadTime() time.Duration { return 0 }
