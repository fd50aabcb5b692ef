package aft_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// TestPoliciesAreDocumented: a policy that is added is told of where users look.
func TestPoliciesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/recovery.md")
	require.NoError(t, err)
	for _, v := range env.Variables {
		switch v.Name {
		case "CRAFT_COMM_RECOVERY_POLICY":
			documented(t, v.Values, string(page), comm.Recoveries())
		case "CRAFT_COMM_SPAWN_POLICY":
			documented(t, v.Values, string(page), comm.SpawnPolicies())
		}
	}
}

func documented[T ~string](t *testing.T, values, page string, names []T) {
	t.Helper()
	var list []string
	for _, n := range names {
		list = append(list, string(n))
		if !strings.Contains(page, "| `"+string(n)+"`") {
			t.Errorf("docs/recovery.md, section 5: there is no row of `%s`", n)
		}
	}
	require.Equal(t, strings.Join(list, ", "), values, "internal/env")
}
