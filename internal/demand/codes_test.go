package demand

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobCode(t *testing.T) {
	for _, c := range []struct {
		codes     []int
		job, at99 int // with 75 for what is to go on later, and with 99
	}{
		{nil, 0, 0},
		{[]int{0, 0}, 0, 0},
		{[]int{0, 75}, 75, 75},
		{[]int{75, 99}, 99, 99},
		{[]int{75, 130}, 130, 130},
		{[]int{99, 130}, 99, 130},
		{[]int{75, 76}, 76, 76},
		{[]int{76, 130}, 76, 76},
		{[]int{0, 75, 76, 130}, 76, 76},
		{[]int{1, 75}, 1, 1},
		{[]int{1, 76}, 1, 1},
		{[]int{1, 130}, 1, 1},
		{[]int{2, 75}, 2, 2},
		{[]int{1, 75, 137, 3}, 137, 137},
		{[]int{143, 130}, 143, 143},
	} {
		for range len(c.codes) + 1 { // whoever says it
			require.Equal(t, c.job, JobCode(ExitRequeue, c.codes...), "%v", c.codes)
			require.Equal(t, c.at99, JobCode(99, c.codes...), "%v, 99 goes on later", c.codes)
			if len(c.codes) > 0 {
				c.codes = slices.Concat(c.codes[1:], c.codes[:1])
			}
		}
	}
}

func TestExitCodeOfACause(t *testing.T) {
	for cause, code := range map[Cause]int{None: 0, Deadline: 99, Halt: 76, Interrupt: 130} {
		require.Equal(t, code, cause.ExitCode(99), cause)
	}
	for code, may := range map[int]bool{0: false, 1: false, 2: true, 75: true, 76: false, 130: false, 255: true, 256: false} {
		require.Equal(t, may, MayRequeue(code), code)
	}
}
