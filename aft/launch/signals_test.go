package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestImpatience(t *testing.T) {
	var i impatience
	start := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  int
	}{
		{0, 1}, {1, 0}, {together - 1, 0}, // one of them
		{together, 2}, {together + together/2, 0},
		{2*together + together/2, 3}, {time.Hour, 4},
	} {
		require.Equal(t, c.want, i.again(start.Add(c.after)), c.after)
	}
}
