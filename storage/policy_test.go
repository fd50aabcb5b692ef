package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

func TestPolicy(t *testing.T) {
	of := storage.LevelsOf
	p, err := storage.ParsePolicy(" pfs:50, Local:1,partner:5 ,xor:10,rs:20")
	require.NoError(t, err)
	require.Equal(t, "local:1,partner:5,xor:10,rs:20,pfs:50", p.String())
	require.True(t, p.BelowHome())
	for version, want := range map[uint64]storage.Levels{
		1: of(storage.Local), 5: of(storage.Partner), 10: of(storage.XOR), 15: of(storage.Partner), 20: of(storage.RS),
		50: of(storage.XOR, storage.PFS), 100: of(storage.RS, storage.PFS),
	} {
		require.Equal(t, want, p.Plan(version), "version %d", version)
	}
	p, err = storage.ParsePolicy("")
	require.NoError(t, err)
	require.Equal(t, "", p.String())
	p, err = storage.ParsePolicy("partner:2,pfs:3")
	require.NoError(t, err)
	require.Equal(t, of(storage.Local), p.Plan(1), "what is due nowhere is kept on the node")
	require.Equal(t, of(storage.Local, storage.PFS), p.Plan(3))
	for _, direct := range []storage.Policy{nil, {{Level: storage.PFS, Every: 1}}, {{Level: storage.PFS, Every: 7}}} {
		require.False(t, direct.BelowHome())
		require.Equal(t, of(storage.PFS), direct.Plan(1), "there is no other place")
	}
	p, err = storage.ParsePolicy("local:1,volatile:2,partner:4")
	require.NoError(t, err)
	require.Equal(t, of(storage.Local, storagetest.Volatile), p.Plan(2), "neither of them makes the other")
	require.Equal(t, of(storage.Partner), p.Plan(4), "which makes both")
	require.Equal(t, of(storage.Partner), p.Between(0, 0).With(p.Between(3, 4)).And(of(storage.Partner)))
	require.Equal(t, of(storage.Local, storagetest.Volatile), p.Between(1, 3))
}

func TestPolicyMistakes(t *testing.T) {
	for s, want := range map[string]string{
		" ": `level ""`, "disk:1": "allowed are process, mem, local, partner, ", "local:0": "from 1 to 4294967295", "local:x": "from 1",
		"local:-1": "from 1", "partner:99999999999999999999": "from 1 to 4294967295", "local:4294967296": "from 1 to 4294967295", "pfs:2": "between would be nowhere", "local:1,local:2": "twice", "local,": `level ""`, "captured": "allowed are",
	} {
		_, err := storage.ParsePolicy(s)
		require.ErrorContains(t, err, want, "%q", s)
	}
}
