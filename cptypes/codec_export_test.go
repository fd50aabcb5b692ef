package cptypes

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// SchemaOf is the encoded schema of what v points to.
func SchemaOf(t testing.TB, v any) []byte {
	c, err := codecOf(reflect.TypeOf(v).Elem())
	require.NoError(t, err)
	s, err := schemaIn(c.header)
	require.NoError(t, err)
	return s
}

func schemaIn(header []byte) ([]byte, error) {
	c := cursor{b: header[len(codecMagic):]}
	return []byte(c.text()), nil
}

// CheckSchema decodes b; what is accepted must survive encoding, and have a
// description.
func CheckSchema(t testing.TB, b []byte) {
	s, err := parseSchema(b)
	if err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
		return
	}
	again, err := parseSchema(s.appendTo(nil))
	require.NoError(t, err)
	require.Equal(t, s, again)
	for i := range s {
		require.NotEmpty(t, s.text(i, 0))
	}
}
