package killtest

import (
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// Recoveries are the policies under which a job goes on after a failure.
func Recoveries() []comm.Recovery {
	return slices.DeleteFunc(comm.Recoveries(), func(r comm.Recovery) bool { return r == comm.Abort })
}
