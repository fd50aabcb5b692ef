package scale

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

var (
	nodes  = flag.Int("nodes", 10, "")
	ranks  = flag.Int("ranks", 8, "")
	fan    = flag.Int("fanout", 0, "")
	policy = flag.String("policy", "NON-SHRINKING", "")
	fails  = flag.String("fails", "process", "")
)

func TestOne(t *testing.T) {
	b := time.Now()
	o, err := Run(Config{Nodes: *nodes, Ranks: *ranks, FanOut: *fan, Policy: driver.Recovery(*policy), Fails: Failure(*fails), Model: Default, Timing: Timing})
	require.NoError(t, err)
	t.Logf("start %+v", o.Start)
	t.Logf("recovery %+v", o.Recovery)
	t.Logf("pulses %v", o.Pulses)
	t.Log(time.Since(b))
}
