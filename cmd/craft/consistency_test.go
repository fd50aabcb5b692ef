package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// TestFilesThatDoNotBelongTogether: each file is good, but not with the other.
func TestFilesThatDoNotBelongTogether(t *testing.T) {
	box := func(lo, hi int64) container.Desc {
		return container.Desc{Elem: container.Uint8, Shape: []int64{hi - lo}, Dist: container.Partitioned, Global: []int64{10},
			Box: container.Box{Lo: []int64{lo}, Hi: []int64{hi}}}
	}
	replica := container.Desc{Elem: container.Uint8, Shape: []int64{3}, Dist: container.Replicated}
	local := container.Desc{Elem: container.Uint8, Shape: []int64{3}}
	for _, c := range []struct {
		name   string
		change func(h *container.Header)
		a, b   container.Section
		key    string
		says   string
	}{
		{"fine", nil, section("p", box(0, 4)), section("p", box(4, 10)), "", ""},
		{"gap", nil, section("p", box(0, 4)), section("p", box(5, 10)), "p", "[4:5]"},
		{"overlap", nil, section("p", box(0, 5)), section("p", box(4, 10)), "p", "[4:5]"},
		{"missing key", nil, section("p", box(0, 10)), section("q", box(0, 10)), "p", "rank 1"},
		{"another distribution", nil, section("r", replica), section("r", local), "r", "replicated"},
		{"unequal replicas", nil, section("r", replica), container.Section{Key: "r", Desc: replica, Spans: [][]byte{{1, 2, 3}}}, "r", "ranks 0 and 1 differ"},
		{"lineage", func(h *container.Header) { h.Lineage[0]++ }, section("r", replica), section("r", replica), "", "its lineage"},
		{"iteration", func(h *container.Header) { h.Iteration++ }, section("r", replica), section("r", replica), "", "its iteration"},
		{"fingerprint", func(h *container.Header) { h.Fingerprint = []byte("2") }, section("r", replica), section("r", replica), "", "its fingerprint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			for r, s := range []container.Section{c.a, c.b} {
				h := container.Header{Name: "c", Version: 1, Rank: r, Size: 2, Created: time.Now(), Fingerprint: []byte("1")}
				if r == 1 && c.change != nil {
					c.change(&h)
				}
				encode(t, dir, h, s)
			}
			if c.says == "" {
				require.True(t, decode[verification](t, exitFine, "verify", dir).OK)
				return
			}
			found := decode[verification](t, exitFailed, "verify", dir).Versions[0].Findings
			require.NotEmpty(t, found)
			require.Equal(t, c.key, found[0].Key)
			require.Contains(t, found[0].Reason, c.says)
		})
	}
}

// section is zeros.
func section(key string, d container.Desc) container.Section {
	n, _ := d.Elems()
	return container.Section{Key: key, Desc: d, Spans: [][]byte{make([]byte, n)}}
}

func encode(t *testing.T, dir string, h container.Header, s ...container.Section) {
	encoder, err := container.NewEncoder(container.Options{})
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = encoder.Encode(t.Context(), &b, h, s)
	require.NoError(t, err)
	id, part := storage.Identity(h)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, id.String()), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, id.String(), part.String()), b.Bytes(), 0o600))
	_, ok := storage.ParseID(id.String())
	require.True(t, ok)
}
