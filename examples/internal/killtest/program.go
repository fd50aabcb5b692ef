package killtest

import (
	"testing"

	"github.com/craft-go/craft/internal/testprogram"
)

// environment: processes are killed, and the machine stays up.
var environment = []string{"CRAFT_SYNC=none"}

// Program is the program of an example in a working directory of its own. With -json it prints an R.
type Program[R any] struct{ *testprogram.Program }

// NewProgram is one that does not wait for disks.
func NewProgram[R any](t testing.TB) Program[R] {
	p := testprogram.New(t)
	p.Env = environment[:len(environment):len(environment)]
	return Program[R]{p}
}

// Result runs it with -json and wants success and one line of JSON.
func (p Program[R]) Result(args ...string) (r R) {
	p.T.Helper()
	p.JSON(&r, append(args, "-json")...)
	return r
}
