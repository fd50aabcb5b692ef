package launch

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/env"
)

// agentCommand is the command that starts a daemon on a host: the agent's words
// and "env CRAFT_ROLE=guard EXECUTABLE".
func agentCommand(agent []string, host, executable string) *exec.Cmd {
	words := slices.Clone(agent)
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{host}") }) {
		words = append(words, "{host}")
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{host}", host)
	}
	if base := filepath.Base(agent[0]); base == "ssh" || base == "rsh" {
		executable = quoted(executable) // a shell there splits the line again
	}
	words = append(words, "env", env.Role+"="+env.RoleGuard, executable)
	return exec.Command("sh", append([]string{"-c", deaf, "sh"}, words...)...)
}

// deaf runs a command that is not to end, and its host be lost, where a signal goes to
// all processes of this machine or job so that programs can save what they have.
const deaf = `trap "" HUP INT TERM USR1 USR2; exec "$@"`

// quoted is one word for a shell.
func quoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
