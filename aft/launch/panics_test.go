package launch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPanicLine(t *testing.T) {
	for data, want := range map[string]string{
		"panic: a bug\n\ngoroutine 1 [running]:\n":                     "panic: a bug",
		"panic: a bug [recovered, repanicked]\n\n":                     "panic: a bug",
		"x\nfatal error: all goroutines are asleep - deadlock!\n":      "fatal error: all goroutines are asleep - deadlock!",
		"panic: one [recovered]\n\tpanic: two\n":                       "panic: one [recovered]",
		"panic: recovered\nmore\npanic: the last\n":                    "panic: the last",
		"do not panic: it is only a line\n":                            "",
		"":                                                             "",
		"panic: \xff" + strings.Repeat("x", 2*longestPanic) + "\n":     "panic: " + strings.Repeat("x", longestPanic-8),
		"SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\ngoroutine 1 [idle]:\n": "",
	} {
		require.Equal(t, want, panicLine([]byte(data)), data)
	}
}
