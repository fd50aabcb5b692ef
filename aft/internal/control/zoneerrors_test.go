package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func TestAddZoneError(t *testing.T) {
	var list []driver.ZoneError
	for _, zone := range []int{1, 2, 3, 5} {
		list = addZoneError(list, zone, driver.Outcome{Err: "no", ErrRank: 2})
	}
	list = addZoneError(list, 6, driver.Outcome{Err: "no", ErrRank: 1})
	long := strings.Repeat("x", 2*maxZoneErrorText)
	list = addZoneError(list, 7, driver.Outcome{Err: long})
	require.Equal(t, []driver.ZoneError{
		{First: 1, Last: 3, Err: "no", Rank: 2}, {First: 5, Last: 5, Err: "no", Rank: 2}, {First: 6, Last: 6, Err: "no", Rank: 1},
		{First: 7, Last: 7, Err: long[:maxZoneErrorText] + " ..."},
	}, list)
	for zone := range 2 * maxZoneErrors {
		list = addZoneError(list, 10+2*zone, driver.Outcome{Err: fmt.Sprint(zone)})
	}
	require.Len(t, list, maxZoneErrors)
	texts := 0
	for _, e := range list {
		if e.Err != zoneTextDropped {
			texts++
		}
	}
	require.Equal(t, maxZoneTexts, texts)
}

// What newcomers are told does not change any more: it may be sent, or read, meanwhile.
func TestZoneErrorsOfANewcomer(t *testing.T) {
	s := four(t)
	end := func(comm1 CommID, seq uint64, procs ...Proc) {
		for _, p := range procs {
			s.join(p, Join{Comm: comm1, Op: OpEnd, Seq: seq, Verdict: &driver.Verdict{Err: "no"}, Step: NoStep})
		}
	}
	end(0, 0, 0, 1, 2, 3)
	s.kill(2)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
	s.hello(4)
	told := s.made(4)
	require.Equal(t, []driver.ZoneError{{Err: "no"}}, told.ZoneErrors)
	end(told.New.ID, 0, 0, 1, 4, 3)
	require.Equal(t, []driver.ZoneError{{Last: 1, Err: "no"}}, s.r.rendezvous.zoneErrors)
	require.Equal(t, []driver.ZoneError{{Err: "no"}}, told.ZoneErrors)
}
