package offheap

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// group is what files say of the memory of a control group: limits, and what is used of each. Either version has a
// limit that the group is slowed down or killed for passing, without regard to what could be swapped out.
type group struct {
	limits [][2]string // limit, used
	cached []string    // lines of memory.stat: what files take, which the system gives up first
}

var (
	groupVersion1 = group{
		limits: [][2]string{{"memory.limit_in_bytes", "memory.usage_in_bytes"}, {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"}},
		cached: []string{"total_inactive_file", "total_active_file"},
	}
	groupVersion2 = group{
		limits: [][2]string{{"memory.max", "memory.current"}, {"memory.high", "memory.current"}},
		cached: []string{"inactive_file", "active_file"},
	}
)

// groupAvailable is what the control groups of the process, and those around them, have left; math.MaxInt64 if nothing
// says. root is that of the file system.
func groupAvailable(root fs.FS) int64 {
	left := int64(math.MaxInt64)
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return left
	}
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return left
	}
	for line := range strings.Lines(string(mounts)) {
		top, at, version, ok := parseGroupMount(line)
		if !ok {
			continue
		}
		dir := at
		if inside, found := strings.CutPrefix(ownGroup(own, version), strings.TrimSuffix(top, "/")+"/"); found {
			dir = path.Join(at, inside)
		} // else it is the one that is mounted, as in a container
		for ; dir == at || strings.HasPrefix(dir, at+"/"); dir = path.Dir(dir) {
			left = min(left, version.left(root, dir))
		}
	}
	return left
}

// parseGroupMount finds in a line of mountinfo where control groups that count memory are mounted, and which of them
// is there.
func parseGroupMount(line string) (top, at string, version *group, ok bool) {
	mount, system, found := strings.Cut(strings.TrimSpace(line), " - ")
	f, of := strings.Fields(mount), strings.Fields(system)
	if !found || len(f) < 5 || len(of) < 3 {
		return "", "", nil, false
	}
	switch {
	case of[0] == "cgroup2":
		version = &groupVersion2
	case of[0] == "cgroup" && slices.Contains(strings.Split(of[2], ","), "memory"):
		version = &groupVersion1
	default:
		return "", "", nil, false
	}
	return f[3], strings.TrimPrefix(f[4], "/"), version, true
}

// ownGroup is the path of the process's group in a version.
func ownGroup(own []byte, version *group) string {
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 {
			continue
		}
		if version == &groupVersion2 && f[1] == "" || version == &groupVersion1 && slices.Contains(strings.Split(f[1], ","), "memory") {
			return f[2]
		}
	}
	return ""
}

// none is how version 1 says that there is no limit, or less.
const none = 1 << 60

// left is what a group has left. To ask what files take is ten times what all else is: it is done where there is a limit.
func (g *group) left(root fs.FS, dir string) int64 {
	left := int64(math.MaxInt64)
	cached := sync.OnceValue(func() int64 { return g.files(root, dir) })
	for _, files := range g.limits {
		limit, err := number(root, path.Join(dir, files[0]))
		if err != nil || limit >= none {
			continue
		}
		if used, err := number(root, path.Join(dir, files[1])); err == nil {
			left = min(left, max(limit-spared(limit)-max(used-cached(), 0), 0))
		}
	}
	return left
}

func (g *group) files(root fs.FS, dir string) (n int64) {
	b, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if slices.Contains(g.cached, name) {
			k, _ := strconv.ParseInt(value, 10, 64)
			n += k
		}
	}
	return n
}

func number(root fs.FS, file string) (int64, error) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
}
