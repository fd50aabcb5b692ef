package env

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"CRAFT_CP_PAHT":            "CRAFT_CP_PATH",
		"CRAFT_CP_READ_ON_RESTART": "CRAFT_READ_CP_ON_RESTART", // the name that the original reads
		"CRAFT_ENABLED":            "CRAFT_ENABLE",
		"CRAFT_COMM_SPAWNPOLICY":   "CRAFT_COMM_SPAWN_POLICY",
		"CRAFT_RECOVERY_POLICY":    "CRAFT_COMM_RECOVERY_POLICY", // not CRAFT_RECOVERY_DELAY
	} {
		require.Equal(t, []unknown{{name: name, value: "1", nearest: want}}, findUnknown([]string{name + "=1", "HOME=/", "CRAFT_KEEP=3", "CRAFT_TEST_X=1"}))
	}
	require.Empty(t, findUnknown([]string{"CRAFT_KEEP=3", "CRAFTY=1"}))
}

// TestUnknownVariablesAreReportedOnce in a process, and in a job by its launcher only.
func TestUnknownVariablesAreReportedOnce(t *testing.T) {
	environ := []string{"CRAFT_REPAIRTIMEOUT=" + t.TempDir()}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	t.Setenv(Role, RoleRank)
	ReportUnknown(logger, environ)
	require.Empty(t, log.String())
	require.NoError(t, os.Unsetenv(Role))
	for range 2 {
		ReportUnknown(logger, environ)
	}
	require.Equal(t, 1, strings.Count(log.String(), "variable=CRAFT_REPAIRTIMEOUT nearest=CRAFT_REPAIR_TIMEOUT"), log.String())
}

// TestRolesThatThereAreNot: nobody would know what the process was to be.
func TestRolesThatThereAreNot(t *testing.T) {
	var spec struct{}
	for _, role := range []string{RoleGuard, RoleDaemon, RoleRank, ""} {
		t.Setenv(Role, role)
		require.NoError(t, Load(&spec), role)
	}
	t.Setenv(Role, "x")
	require.ErrorContains(t, Load(&spec), `CRAFT_ROLE="x"`)
	require.ErrorContains(t, Load(&spec), "allowed are guard, daemon, rank")
}

func TestLoadNamesVariableValueAndChoice(t *testing.T) {
	type Part struct {
		Keep int `envconfig:"KEEP" default:"2"`
	}
	var spec struct{ Part }
	for _, value := range []string{"many", "010", "08", "-01", "0x10"} { // none is octal
		t.Setenv("CRAFT_KEEP", value)
		err := Load(&spec)
		require.ErrorContains(t, err, `CRAFT_KEEP="`+value+`"`)
		require.ErrorContains(t, err, "allowed are 1, 2, ...")
	}
	t.Setenv("CRAFT_KEEP", "0")
	require.NoError(t, Load(&spec))
}

// TestDocumentationListsEveryVariable, each once and in the order of their names.
func TestDocumentationListsEveryVariable(t *testing.T) {
	text, err := os.ReadFile("../../docs/environment.md")
	require.NoError(t, err)
	var want []string
	for _, v := range Variables {
		want = append(want, "| `"+v.Name+"` | "+v.Values+" | "+v.Default+" | "+v.Meaning+" |")
	}
	require.Equal(t, want, regexp.MustCompile("(?m)^\\| `CRAFT_.*$").FindAllString(string(text), -1))
	require.True(t, slices.IsSortedFunc(Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) }))
}
