package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNewestVersionIsAway: a link that leads nowhere ends the program, and what is gone
// is said.
func TestNewestVersionIsAway(t *testing.T) {
	p := newProgram(t)
	want := p.result(small()...)
	versions := p.found("cp/lanczos/v-*")
	newest, disk := versions[len(versions)-1], filepath.Join(p.Dir, "disk")
	require.NoError(t, os.Rename(newest, disk))
	require.NoError(t, os.Symlink(disk+"-not-mounted", newest))
	for _, args := range [][]string{small(), small("-ranks", "2"), on()} {
		require.Contains(t, p.Start(args...).End(1).Stderr.String(), filepath.Base(newest)+" is a link to something that is not there")
	}
	require.NoError(t, os.Remove(newest))
	s := p.Start(small()...).End(0)
	require.Contains(t, s.Stderr.String(), "the newest version is not used")
	require.Contains(t, s.Stderr.String(), filepath.Base(newest))

	require.NoError(t, os.Rename(disk, newest))
	s = p.Start(small("-iters", "310")...).End(0)
	require.Contains(t, s.Stderr.String(), "versions of another branch are stored")
	require.Equal(t, want.Digest, newProgram(t).result(small()...).Digest)
}

// TestStrictStart ends the job once, and recoveries are not meant.
func TestStrictStart(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"CRAFT_STRICT=1"}
	want := p.result(on("-kill", "2@137")...)
	require.Equal(t, 1, want.Recoveries)
	versions := p.found("cp/lanczos/v-*")
	part := filepath.Join(versions[len(versions)-1], "rank-00001-of-00004.craft")
	data, err := os.ReadFile(part)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(part, data, 0o600))

	stderr := p.Start(on()...).End(1).Stderr.String()
	require.Contains(t, stderr, "strict start refused")
	require.Contains(t, stderr, "CRAFT_STRICT=allow-damaged")
	require.NotContains(t, stderr, "started again")
	require.NotContains(t, stderr, "panic")

	p.Env = []string{"CRAFT_STRICT=allow-damaged"}
	got := p.result(on("-kill", "1@285")...)
	require.Equal(t, want.Digest, got.Digest)
}
