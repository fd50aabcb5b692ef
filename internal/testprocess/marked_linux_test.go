package testprocess

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNodesWithoutTheKilled: what was killed counts no more, also while it is still there.
func TestNodesWithoutTheKilled(t *testing.T) {
	mark := Mark(t)
	cmd := exec.Command("sh", "-c", "for i in 1 2; do CRAFT_ROLE=rank sh -c 'echo $$; read line <&3' & done; wait")
	cmd.Env = append(os.Environ(), "CRAFT_ROLE=daemon")
	keep, input, err := os.Pipe() // what the processes wait for: its end
	require.NoError(t, err)
	defer keep.Close()
	defer input.Close()
	cmd.ExtraFiles = []*os.File{keep}
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var ranks []int
	for lines := bufio.NewScanner(output); len(ranks) < 2 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		ranks = append(ranks, pid)
	}
	daemon := cmd.Process.Pid
	nodes := mark.Nodes(t, nil)
	require.Len(t, nodes, 1)
	require.Equal(t, daemon, nodes[0].Daemon)
	require.ElementsMatch(t, ranks, nodes[0].Ranks)
	require.Equal(t, []Node{{daemon, ranks[1:]}}, mark.Nodes(t, map[int]bool{ranks[0]: true}))
	require.Empty(t, mark.Nodes(t, map[int]bool{ranks[0]: true, ranks[1]: true}))
	require.Empty(t, mark.Nodes(t, map[int]bool{daemon: true}))
	require.Len(t, mark.Processes(t), 3)
	require.NoError(t, input.Close())
	require.NoError(t, cmd.Wait())
	mark.NoneLeft(t)
}
