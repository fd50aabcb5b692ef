package launch

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxHosts bounds what a list may expand to.
const maxHosts = 1 << 16

// ParseHosts reads a list such as "a,b:2,c": names with the number of ranks that
// each may have.
func ParseHosts(list string) ([]Host, error) {
	var hosts []Host
	for entry := range strings.SplitSeq(list, ",") {
		h, err := parseHost(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, checkHosts(hosts)
}

// ReadHostfile reads one host per line: "a", "a:2", "a slots=2"; # starts a
// comment.
func ReadHostfile(r io.Reader) ([]Host, error) {
	var hosts []Host
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		entry := fields[0]
		for _, f := range fields[1:] {
			slots, ok := strings.CutPrefix(f, "slots=")
			if !ok {
				return nil, fmt.Errorf("line %d: %q is not understood: a line is such as \"a\", \"a:2\" or \"a slots=2\"", n, f)
			}
			entry += ":" + slots
		}
		h, err := parseHost(entry)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		hosts = append(hosts, h)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return hosts, checkHosts(hosts)
}

// parseHost reads "name" or "name:slots". An IPv6 address stands in brackets.
func parseHost(entry string) (Host, error) {
	name, slots := entry, ""
	bracket := strings.HasPrefix(entry, "[")
	if bracket != strings.Contains(entry, "]") || !bracket && strings.Count(entry, ":") > 1 {
		return Host{}, fmt.Errorf("host %q: an IPv6 address stands in brackets, before the slots: [fe80::1] or [fe80::1]:2", entry)
	}
	if at := strings.LastIndexByte(entry, ':'); at >= 0 && at > strings.LastIndexByte(entry, ']') {
		name, slots = entry[:at], entry[at+1:]
		if slots == "" {
			return Host{}, fmt.Errorf("host %q: a number of slots must follow the colon", entry)
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	h := Host{Name: name}
	if err := checkHostName(name); err != nil {
		return Host{}, err
	}
	if slots != "" {
		n, err := strconv.Atoi(slots)
		if err != nil || n < 1 {
			return Host{}, fmt.Errorf("host %q: %q is not a number of slots, 1 or more", name, slots)
		}
		h.Slots = n
	}
	return h, nil
}

// checkHostName allows what a name or an address may consist of. A name that
// starts with a dash would be an option of the agent.
func checkHostName(name string) error {
	if name == "" {
		return fmt.Errorf("a host has no name: a list is such as a,b:2,c")
	}
	for i, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && c == '-', strings.ContainsRune("._:@%", c):
		default:
			return fmt.Errorf("host %q: %q is not allowed in a name", name, c)
		}
	}
	return nil
}

func checkHosts(hosts []Host) error {
	if len(hosts) == 0 {
		return fmt.Errorf("no hosts are listed")
	}
	if len(hosts) > maxHosts {
		return fmt.Errorf("%d hosts are too many: at most %d", len(hosts), maxHosts)
	}
	seen := make(map[string]bool)
	for _, h := range hosts {
		if seen[h.Name] {
			return fmt.Errorf("host %q is listed twice: give it slots (%s:2), or use virtual nodes (--nodes) on one machine", h.Name, h.Name)
		}
		seen[h.Name] = true
	}
	return nil
}
