package launch

import (
	"fmt"
	"strconv"
	"strings"
)

// slurmHosts reads the nodes of a Slurm job from SLURM_JOB_NODELIST and
// SLURM_TASKS_PER_NODE (which may be empty: any number of ranks on each).
func slurmHosts(nodelist, tasks string) ([]Host, error) {
	names, err := expandNodelist(nodelist)
	if err != nil {
		return nil, fmt.Errorf("SLURM_JOB_NODELIST=%q: %w", nodelist, err)
	}
	hosts := make([]Host, len(names))
	for i, name := range names {
		hosts[i].Name = name
	}
	if err := checkHosts(hosts); err != nil {
		return nil, fmt.Errorf("SLURM_JOB_NODELIST=%q: %w", nodelist, err)
	}
	if tasks == "" {
		return hosts, nil
	}
	counts, err := expandCounts(tasks)
	if err == nil && len(counts) != len(hosts) {
		err = fmt.Errorf("it is for %d nodes, and SLURM_JOB_NODELIST has %d", len(counts), len(hosts))
	}
	if err != nil {
		return nil, fmt.Errorf("SLURM_TASKS_PER_NODE=%q: %w", tasks, err)
	}
	for i, c := range counts {
		hosts[i].Slots = c
	}
	return hosts, nil
}

// expandNodelist expands a list such as "n[01-03,7],login,r[1-2]c[0-1]".
func expandNodelist(list string) ([]string, error) {
	var names []string
	for len(list) > 0 {
		entry := list[:topLevelComma(list)]
		list = strings.TrimPrefix(list[len(entry):], ",")
		expanded, err := expandBrackets(entry, maxHosts-len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, expanded...)
	}
	for _, n := range names {
		if err := checkHostName(n); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// topLevelComma is the index of the first comma outside brackets, or the length.
func topLevelComma(list string) int {
	depth := 0
	for i, c := range list {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth <= 0:
			return i
		}
	}
	return len(list)
}

// expandBrackets expands the brackets of one entry, the first one slowest.
func expandBrackets(entry string, most int) ([]string, error) {
	open := strings.IndexByte(entry, '[')
	if open < 0 {
		if most < 1 {
			return nil, fmt.Errorf("more than %d hosts", maxHosts)
		}
		return []string{entry}, nil
	}
	length := strings.IndexByte(entry[open:], ']')
	if length < 0 {
		return nil, fmt.Errorf("%q has no closing bracket", entry)
	}
	numbers, err := expandRanges(entry[open+1:open+length], most)
	if err != nil {
		return nil, err
	}
	rest, err := expandBrackets(entry[open+length+1:], most)
	if err != nil {
		return nil, err
	}
	if len(numbers)*len(rest) > most {
		return nil, fmt.Errorf("more than %d hosts", maxHosts)
	}
	names := make([]string, 0, len(numbers)*len(rest))
	for _, n := range numbers {
		for _, r := range rest {
			names = append(names, entry[:open]+n+r)
		}
	}
	return names, nil
}

// expandRanges expands "01-03,7"; leading zeros are kept.
func expandRanges(list string, most int) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 32)
		to, err2 := strconv.ParseUint(high, 10, 32)
		if err != nil || err2 != nil || to < from || len(low) > 16 {
			return nil, fmt.Errorf("%q is not a number or a range of numbers", part)
		}
		if to-from >= uint64(max(0, most-len(out))) {
			return nil, fmt.Errorf("more than %d hosts", maxHosts)
		}
		for n := from; n <= to; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return out, nil
}

// expandCounts expands "2(x3),1" to 2, 2, 2, 1.
func expandCounts(list string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		count, times := part, 1
		if number, rest, repeated := strings.Cut(part, "(x"); repeated {
			n, err := strconv.Atoi(strings.TrimSuffix(rest, ")"))
			if err != nil || n < 1 || n > maxHosts || !strings.HasSuffix(rest, ")") {
				return nil, fmt.Errorf("%q is not such as 2 or 2(x3)", part)
			}
			count, times = number, n
		}
		c, err := strconv.Atoi(count)
		if err != nil || c < 1 {
			return nil, fmt.Errorf("%q is not such as 2 or 2(x3)", part)
		}
		if len(out)+times > maxHosts {
			return nil, fmt.Errorf("more than %d nodes", maxHosts)
		}
		for range times {
			out = append(out, c)
		}
	}
	return out, nil
}
