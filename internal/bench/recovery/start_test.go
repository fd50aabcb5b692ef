package recovery

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testprogram"
)

// TestInitFunctionsDoLittle: each process of a job runs the init functions of all packages of the program, daemons too, which use
// few of them. What only some processes need is made when it is used: tables of checksums and compiled expressions took
// nine tenths of what the packages of this module allocated, and a tenth of the time of a start.
func TestInitFunctionsDoLittle(t *testing.T) {
	p := testprogram.New(t)
	p.Env = append(p.Env, "GODEBUG=inittrace=1")
	said := p.Start("-what", "end").End(0).Stderr.String()
	line := regexp.MustCompile(`(?m)^init (github\.com/craft-go/craft/\S+) .* (\d+) bytes, (\d+) allocs$`)
	bytes, allocs := 0, 0
	for _, m := range line.FindAllStringSubmatch(said, -1) {
		b, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		a, err := strconv.Atoi(m[3])
		require.NoError(t, err)
		bytes, allocs = bytes+b, allocs+a
	}
	require.Greater(t, strings.Count(said, "\ninit "), 50, said)
	require.Positive(t, allocs, said)
	require.Less(t, bytes, 16<<10, said)
	require.Less(t, allocs, 120, said)
}
