package async

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrCPUList is returned for a list of processors that cannot be used.
var ErrCPUList = errors.New("processor list")

// maxCPU is the highest processor number that is accepted.
const maxCPU = 1<<16 - 1

// ParseCPUList reads a list of processors such as "0,2-3", as the kernel and
// taskset write it; "_" also separates, as in the original CRAFT. The result is
// sorted, without duplicates, and empty for an empty list.
func ParseCPUList(list string) ([]int, error) {
	var cpus []int
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '_' }) {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		lo, err := cpuNumber(first)
		hi := lo
		if err == nil && isRange {
			hi, err = cpuNumber(last)
		}
		if err != nil || hi < lo {
			return nil, fmt.Errorf("async: %w: %q in %q: want numbers and ranges such as 0,2-3", ErrCPUList, item, list)
		}
		for c := lo; c <= hi; c++ {
			cpus = append(cpus, c)
		}
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("async: %w: %q: want numbers and ranges such as 0,2-3", ErrCPUList, list)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func cpuNumber(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err == nil && (n < 0 || n > maxCPU) {
		err = strconv.ErrRange
	}
	return n, err
}

// formatCPUs is the reverse of ParseCPUList.
func formatCPUs(cpus []int) string {
	var items []string
	for len(cpus) > 0 {
		n := 1 // that follow one another
		for n < len(cpus) && cpus[n] == cpus[0]+n {
			n++
		}
		item := strconv.Itoa(cpus[0])
		if n > 1 {
			item += "-" + strconv.Itoa(cpus[n-1])
		}
		items, cpus = append(items, item), cpus[n:]
	}
	return strings.Join(items, ",")
}
