package checkpoint

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

func TestMeaningsOfSignals(t *testing.T) {
	takes, err := parseSignals(" SIGTERM = end, usr1=save,USR1=save ,,INT=default")
	require.NoError(t, err)
	require.Equal(t, map[syscall.Signal]demand.Takes{syscall.SIGTERM: demand.TakesEnd, syscall.SIGUSR1: demand.TakesSave}, takes)
	for text, why := range map[string]string{
		"TERM=end,TERM=save":    "TERM has two meanings: end and save",
		"USR1=save,SIGUSR1=end": "SIGUSR1 has two meanings: save and end",
		"TERM":                  `"" for TERM (allowed: end, save, default)`,
		"TERM=stop":             `"stop" for TERM`,
		"KILL=end":              `signal "KILL" (allowed: HUP, INT, TERM, USR1, USR2, XCPU)`,
	} {
		_, err := parseSignals(text)
		require.ErrorContains(t, err, why, text)
		require.ErrorContains(t, err, "CRAFT_SIGNALS=", text)
	}
}
