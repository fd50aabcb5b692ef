package matrixmarket

import (
	"fmt"
	"slices"
	"strings"
)

// header is the first line: "%%MatrixMarket matrix coordinate real general".
type header struct {
	field    string // real, integer or pattern
	symmetry string // general or symmetric
}

func parseHeader(line string) (header, error) {
	words := strings.Fields(strings.ToLower(line))
	if len(words) == 0 || words[0] != "%%matrixmarket" {
		return header{}, fmt.Errorf("%w: it must begin with %%%%MatrixMarket", ErrSyntax)
	}
	if len(words) != 5 {
		return header{}, fmt.Errorf("%w: the header has %d words, not 5 (%%%%MatrixMarket matrix coordinate FIELD SYMMETRY)", ErrSyntax, len(words))
	}
	known := []struct{ name, allowed, valid string }{
		{"object", "matrix", "vector"},
		{"format", "coordinate", "array"},
		{"field", "real integer pattern", "complex"},
		{"symmetry", "general symmetric", "skew-symmetric hermitian"},
	}
	for i, k := range known {
		word := words[i+1]
		switch {
		case slices.Contains(strings.Fields(k.allowed), word):
		case slices.Contains(strings.Fields(k.valid), word):
			return header{}, fmt.Errorf("%s %q is %w; allowed: %s", k.name, word, ErrUnsupported, k.allowed)
		default:
			return header{}, fmt.Errorf("%w: unknown %s %q; allowed: %s", ErrSyntax, k.name, word, k.allowed)
		}
	}
	return header{field: words[3], symmetry: words[4]}, nil
}
