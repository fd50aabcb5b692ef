package placement_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/internal/vfs"
)

// looksAtParity reports whether an operation is to look at a parity file.
func looksAtParity(op vfs.Op) bool {
	return (op.Kind == vfs.OpOpen || op.Kind == vfs.OpRead) && strings.Contains(op.Path, "parity-")
}

// A version that could be had with parity that cannot be read now is away, with the reason,
// and nothing of it is deleted, though nobody asks to keep it. Damaged parity is gone.
func TestParityThatCannotBeRead(t *testing.T) {
	for _, why := range []error{syscall.EIO, syscall.EACCES, syscall.EMFILE} {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprint(why, " lost ", lost), func(t *testing.T) {
				f := newFaulty("xor")
				f.job(t, func(ctx context.Context, m *member) error {
					_, err := m.write(ctx, 1)
					return err
				})
				if lost {
					f.lose(1)
				}
				f.breaks(func(node int, op vfs.Op) error {
					if node == 2 && looksAtParity(op) {
						return why
					}
					return nil
				})
				f.job(t, func(ctx context.Context, m *member) error { // keeps complete versions
					entries, err := m.List(ctx)
					if err != nil || len(entries) != 1 {
						return fmt.Errorf("entries %v, %w", entries, err)
					}
					e := entries[0]
					text := strings.Join(e.Away, "; ")
					if !strings.Contains(text, "a parity file cannot be read") || !strings.Contains(text, why.Error()) {
						return fmt.Errorf("away: %q", text)
					}
					return errors.Join(err, expect("complete", e.Complete(), !lost))
				})
				f.breaks(nil)
				f.restores(t, 1)
			})
		}
	}
}

// What no header can tell now is asked for again: without it nobody knows which versions
// another one refers to.
func TestHeadersThatCannotBeRead(t *testing.T) {
	f := newFaulty("local")
	f.job(t, func(ctx context.Context, m *member) error {
		_, err := m.write(ctx, 1)
		return err
	})
	f.job(t, func(ctx context.Context, m *member) error {
		f.breaks(func(_ int, op vfs.Op) error {
			if op.Kind == vfs.OpRead && strings.Contains(op.Path, "/rank-") {
				return syscall.EIO
			}
			return nil
		})
		err := m.Survey(ctx)
		if err == nil || !strings.Contains(err.Error(), "version 1: none of its headers can be read now") || !strings.Contains(err.Error(), syscall.EIO.Error()) {
			return fmt.Errorf("survey: %w", err)
		}
		return nil
	})
	f.breaks(nil)
	f.restores(t, 1)
}
