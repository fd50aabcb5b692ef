package codec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// FuzzSchema decodes any bytes as a schema; what is accepted encodes to a schema
// that decodes to the same, and has a description.
func FuzzSchema(f *testing.F) {
	for _, v := range []any{&particle{}, &tree{}, &forest{}, &map[string]int{}, &[]map[[2]bool]struct{ S sealed }{}} {
		c, _ := codecOf(f, v)
		header := cursor{b: c.header[len(magic):]}
		f.Add([]byte(header.text()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSchema(b)
		if err != nil {
			require.ErrorIs(t, err, element.ErrCorrupt)
			return
		}
		again, err := parseSchema(s.appendTo(nil))
		require.NoError(t, err)
		require.Equal(t, s, again)
		for i := range s {
			require.NotEmpty(t, s.text(i, 0))
		}
	})
}
