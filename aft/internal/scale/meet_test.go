package scale

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func meets(nodes, ranks int) Config {
	return Config{Nodes: nodes, Ranks: ranks, Policy: Policies[0], Fails: Process, Model: Default, Timing: Timing}
}

// TestMeet: a request costs the root two messages to each node and one from it, for any number of ranks; the rows
// of small jobs are in docs/recovery-scale.md.
func TestMeet(t *testing.T) {
	data, err := os.ReadFile("../../../docs/recovery-scale.md")
	require.NoError(t, err)
	require.Contains(t, string(data), MeetHead)
	for _, c := range []Config{meets(10, 1), meets(10, 8), meets(100, 8)} {
		r, err := Meet(c)
		require.NoError(t, err)
		require.Equal(t, c.Nodes, r.In.Messages)
		require.Equal(t, 2*c.Nodes, r.Out.Messages)
		require.True(t, strings.Contains(string(data), "\n"+MeetRow(c, r)+"\n"), "docs/recovery-scale.md has no\n%s", MeetRow(c, r))
	}
}

// TestMeetTable prints the rows of all jobs of the document.
func TestMeetTable(t *testing.T) {
	if !given.tables {
		t.Skip("it takes a while: -tables")
	}
	fmt.Println(MeetHead)
	for _, c := range []Config{meets(10, 1), meets(10, 8), meets(100, 8), meets(1000, 1), meets(1000, 8), meets(10000, 1)} {
		r, err := Meet(c)
		require.NoError(t, err)
		fmt.Println(MeetRow(c, r))
	}
}
