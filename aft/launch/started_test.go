package launch

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutsiders: who gets a signal out of the group of a rank, 10, whose own process is 10.
func TestOutsiders(t *testing.T) {
	term, usr1 := setOf(syscall.SIGTERM), setOf(syscall.SIGUSR1)
	shell := process{parent: 1, group: 10, program: "dash"}
	timeout := process{parent: 10, group: 11, program: "timeout", caught: term}
	foreground := process{parent: 10, group: 11, program: "timeout", caught: term, foreground: true}
	for name, c := range map[string]struct {
		family     family
		program    int
		term, usr1 []int
		awaited    []int // at SIGTERM
	}{
		"in the group": {family: family{10: shell, 11: {parent: 10, group: 10, caught: term | usr1}}, program: 11},
		"the program":  {family{10: shell, 11: {parent: 10, group: 11, caught: term}}, 11, []int{11}, []int{11}, nil},
		"another one":  {family: family{10: shell, 11: {parent: 10, group: 11, caught: term}}, term: []int{11}},
		"under timeout": {family{10: shell, 11: timeout, 12: {parent: 11, group: 11, caught: term | usr1}}, 12,
			[]int{12}, []int{12}, []int{11}},
		"under a shell under timeout": {family: family{10: shell, 11: timeout, 12: {parent: 11, group: 11, program: "bash"},
			13: {parent: 12, group: 11, caught: term | usr1}}, term: []int{11}, usr1: []int{13}, awaited: []int{13}},
		"what a shell under timeout waits for": {family: family{10: shell, 11: timeout, 12: {parent: 11, group: 11, program: "dash", caught: term},
			13: {parent: 12, group: 11, program: "sleep"}}, term: []int{11}, awaited: []int{12}},
		"under timeout that leaves it in its group": {family{10: shell, 11: foreground, 12: {parent: 11, group: 11, program: "bash"},
			13: {parent: 12, group: 11, caught: term}}, 13, []int{13}, []int{13}, []int{11, 12}},
		"what a program has started that the rank is": {family: family{10: {parent: 1, group: 10, program: "sim", caught: term},
			11: {parent: 10, group: 11, program: "saver", caught: term | usr1}}},
		"under timeout that a program has started": {family{10: {parent: 1, group: 10, program: "python3"}, 11: timeout,
			12: {parent: 11, group: 11, caught: term}}, 12, []int{12}, []int{12}, []int{11}},
		"under a driver": {family{10: shell, 11: {parent: 10, group: 11, program: "python3", caught: term},
			12: {parent: 11, group: 11, program: "sim", caught: term}}, 12, []int{12}, []int{12}, []int{11}},
		"another one under a driver": {family: family{10: shell, 11: {parent: 10, group: 11, program: "python3", caught: term},
			12: {parent: 11, group: 11, program: "sim", caught: term}, 13: {parent: 12, group: 13, caught: term}}, term: []int{11, 12}},
		"out of the group of its timeout": {family{10: shell, 11: timeout, 12: {parent: 11, group: 11, program: "bash"},
			13: {parent: 12, group: 13, caught: term | usr1}}, 13, []int{13}, []int{13}, []int{11, 12}},
		"a shell with what it waits for": {family: family{10: shell, 11: {parent: 10, group: 11, program: "bash", caught: term},
			12: {parent: 11, group: 11}, 13: {parent: 12, group: 11}}, term: []int{11, 12}},
		"who is deaf": {family: family{10: shell, 11: {parent: 10, group: 11, program: "bash", caught: term},
			12: {parent: 11, group: 11, ignored: term}}, term: []int{11}},
		"what a program has started": {family{10: shell, 11: {parent: 10, group: 10, caught: term},
			12: {parent: 11, group: 12}, 13: {parent: 11, group: 13, caught: term | usr1}}, 11, nil, nil, nil},
		"what one has put in safety": {family: family{10: shell, 11: {parent: 10, group: 10, caught: term}, 12: {parent: 11, group: 12}}},
		"a program with its group": {family{10: shell, 11: {parent: 10, group: 11}, 12: {parent: 11, group: 11},
			13: {parent: 11, group: 13, caught: term}}, 11, []int{11}, []int{11}, nil},
		"a job within the job": {family: family{10: shell, 11: {parent: 10, group: 11, name: "craft", caught: term | usr1},
			12: {parent: 11, group: 12, caught: term}}, term: []int{11}, usr1: []int{11}, awaited: []int{12}},
		"a program beside others": {family{10: shell, 11: {parent: 10, group: 11, program: "bash", caught: term},
			12: {parent: 11, group: 12, program: "sim", caught: term}, 13: {parent: 10, group: 13, program: "redis", caught: term}}, 12, []int{12}, []int{12}, []int{11}},
	} {
		t.Run(name, func(t *testing.T) {
			pids, awaited := c.family.outsiders(syscall.SIGTERM, 10, c.program)
			require.Equal(t, c.term, pids)
			require.Equal(t, c.awaited, awaited)
			pids, _ = c.family.outsiders(syscall.SIGUSR1, 10, c.program)
			require.Equal(t, c.usr1, pids)
		})
	}
}
