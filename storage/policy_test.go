package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPolicy(t *testing.T) {
	p, err := ParsePolicy(" pfs:50, Local:1,partner:5 ,xor:10,rs:20")
	require.NoError(t, err)
	require.Equal(t, "local:1,partner:5,xor:10,rs:20,pfs:50", p.String())
	require.True(t, p.OnNodes())
	for version, want := range map[uint64]Plan{
		1: {Node: Local}, 5: {Node: Partner}, 10: {Node: XOR}, 15: {Node: Partner}, 20: {Node: RS},
		50: {Node: XOR, Flush: true}, 100: {Node: RS, Flush: true},
	} {
		require.Equal(t, want, p.Plan(version), "version %d", version)
	}
	p, err = ParsePolicy("partner:2,pfs:3")
	require.NoError(t, err)
	require.Equal(t, Plan{Node: Local}, p.Plan(1), "what is due nowhere is kept on the node")
	require.Equal(t, Plan{Node: Local, Flush: true}, p.Plan(3))
	for _, direct := range []Policy{nil, {{PFS, 1}}, {{PFS, 7}}} {
		require.False(t, direct.OnNodes())
		require.Equal(t, Plan{Flush: true}, direct.Plan(1), "there is no other place")
	}
}

func TestPolicyMistakes(t *testing.T) {
	for s, want := range map[string]string{
		"": `level ""`, "disk:1": "allowed are local, partner, xor, rs, pfs", "local:0": "from 1 to 4294967295", "local:x": "from 1",
		"local:-1": "from 1", "partner:99999999999999999999": "from 1 to 4294967295", "local:4294967296": "from 1 to 4294967295", "pfs:2": "between would be nowhere", "local:1,local:2": "twice", "local,": `level ""`, "captured": "allowed are",
	} {
		_, err := ParsePolicy(s)
		require.ErrorContains(t, err, want, "%q", s)
	}
}

func TestLevelText(t *testing.T) {
	for l := Captured; l <= PFS; l++ {
		text, err := l.MarshalText()
		require.NoError(t, err)
		var back Level
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, l, back)
	}
	require.Equal(t, "Level(9)", Level(9).String())
}
