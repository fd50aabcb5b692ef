package nodelocal

import (
	"strings"

	"github.com/craft-go/craft/storage"
)

// hiddenName is the name of a file that is being written; only a random one
// cannot meet that of another process, or one that a killed process has left.
func hiddenName(file, random string) string { return "." + file + "." + random + ".tmp" }

// isHidden recognises what hiddenName gives.
func isHidden(name string) bool {
	rest, ok1 := strings.CutPrefix(name, ".")
	rest, ok2 := strings.CutSuffix(rest, ".tmp")
	dot := strings.LastIndexByte(rest, '.')
	if !ok1 || !ok2 || dot < 0 {
		return false
	}
	_, _, ok := storage.ParseObject(rest[:dot])
	return ok
}
