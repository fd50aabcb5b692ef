package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/manifest"
)

// Who lost a version because of where it was started is told where to start.
func TestAbsentNodes(t *testing.T) {
	s := &Absence{nodes: &nodes{list: []manifest.Node{{Host: "here", Dir: "/n/node-0/cp-1"}}}}
	for want, gone := range map[string][]manifest.Node{
		"not in this job: here (/n/node-4/cp-1), here (/n/node-5/cp-1): start it on nodes that include them, virtual nodes of one host with --nodes 6 (and no fewer ranks: a node without one is not looked at)": {
			{Host: "here", Dir: "/n/node-4/cp-1"}, {Host: "here", Dir: "/n/node-5/cp-1"},
		},
		"not in this job: there (/n/node-4/cp-1): start it on nodes that include them":                      {{Host: "there", Dir: "/n/node-4/cp-1"}},
		"not in this job: here (/scratch/cp-1), here (/n/node-x/cp-1): start it on nodes that include them": {{Host: "here", Dir: "/scratch/cp-1"}, {Host: "here", Dir: "/n/node-x/cp-1"}},
	} {
		require.Equal(t, want, s.bringBack(gone))
	}
	// A node in the middle of the others.
	s.nodes.list = append(s.nodes.list, manifest.Node{Host: "here", Dir: "/n/node-3/cp-1"})
	require.Contains(t, s.bringBack([]manifest.Node{{Host: "here", Dir: "/n/node-1/cp-1"}}), "with --nodes 4")
}
