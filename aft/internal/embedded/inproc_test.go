package embedded

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKilledWhileItStarts: a process that others find can be killed, as long as nothing of it
// runs.
func TestKilledWhileItStarts(t *testing.T) {
	for name, kill := range map[string]func(c *inprocCluster, p *inprocProc){
		"rank": func(c *inprocCluster, p *inprocProc) { c.exit(p.ep.self, killed) },
		"node": func(c *inprocCluster, _ *inprocProc) { c.killNode(0) },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newInprocCluster(t.Context(), InprocConfig{Ranks: 1, Nodes: []Node{{Name: "node0"}}})
			require.NoError(t, err)
			var body context.Context
			c.start = func(ctx context.Context, p *inprocProc) {
				body = ctx
				kill(c, p)
			}
			c.begin(func() {})
			c.wait()
			require.ErrorIs(t, context.Cause(body), ErrKilled)
			require.NotZero(t, c.ended.Code)
		})
	}
}
