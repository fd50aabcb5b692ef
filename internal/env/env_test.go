package env

import (
	"os"
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
	} {
		require.Equal(t, []Unknown{{Name: name, Nearest: want}}, findUnknown([]string{name + "=1", "HOME=/", "CRAFT_KEEP=3", "CRAFT_TEST_X=1"}))
	}
	require.Empty(t, findUnknown([]string{"CRAFT_KEEP=3", "CRAFTY=1"}))
}

func TestLoadNamesVariableValueAndChoice(t *testing.T) {
	var spec struct {
		Keep int `envconfig:"KEEP" default:"2"`
	}
	t.Setenv("CRAFT_KEEP", "many")
	err := Load(&spec)
	require.ErrorContains(t, err, `CRAFT_KEEP="many"`)
	require.ErrorContains(t, err, "allowed are 1, 2, ...")
}

func TestDocumentationListsEveryVariable(t *testing.T) {
	text, err := os.ReadFile("../../docs/environment.md")
	require.NoError(t, err)
	for _, v := range Variables {
		row := "| `" + v.Name + "` | " + v.Values + " | " + v.Default + " | " + v.Meaning
		require.True(t, strings.Contains(string(text), row), "docs/environment.md lacks the row\n%s", row)
	}
}
