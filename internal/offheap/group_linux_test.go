package offheap

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const (
	mountVersion1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	mountVersion2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
)

// TestGroupAvailable: the least that a control group or one around it has left, of either version, in a
// container and out of it.
func TestGroupAvailable(t *testing.T) {
	const none = math.MaxInt64
	for name, c := range map[string]struct {
		mounts, own string
		files       map[string]string // below /sys/fs/cgroup
		want        int64
	}{
		"no groups": {"", "", nil, none},
		"version 2, unlimited": {mountVersion2, "0::/a\n", map[string]string{
			"a/memory.max": "max\n", "a/memory.high": "max\n", "a/memory.current": "5\n"}, none},
		"version 2": {mountVersion2, "0::/a/b\n", map[string]string{
			"a/b/memory.max": "6400\n", "a/b/memory.current": "1000\n"}, 5300},
		"version 2, of a parent": {mountVersion2, "0::/a/b\n", map[string]string{
			"a/memory.max": "6400\n", "a/memory.current": "3000\n", "a/b/memory.max": "12800\n", "a/b/memory.current": "1000\n"}, 3300},
		"version 2, where it is slowed down": {mountVersion2, "0::/a\n", map[string]string{
			"a/memory.max": "12800\n", "a/memory.high": "6400\n", "a/memory.current": "1000\n"}, 5300},
		"version 2, files that were read": {mountVersion2, "0::/a\n", map[string]string{
			"a/memory.max": "6400\n", "a/memory.current": "5000\n", "a/memory.stat": "anon 1000\ninactive_file 1000\nactive_file 3000\nshmem 2\n"}, 5300},
		"version 2, more than allowed": {mountVersion2, "0::/a\n", map[string]string{
			"a/memory.max": "6400\n", "a/memory.current": "6390\n"}, 0},
		"version 2, in a container": {"41 31 0:38 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/a\n", map[string]string{
			"memory.max": "6400\n", "memory.current": "1000\n"}, 5300},
		"version 2, in a namespace of its own": {mountVersion2, "0::/\n", map[string]string{
			"memory.max": "6400\n", "memory.current": "1000\n"}, 5300},
		"version 1": {mountVersion1, "10:pids:/x\n4:memory:/job/step\n0::/\n", map[string]string{
			"memory/job/step/memory.limit_in_bytes": "6400\n", "memory/job/step/memory.usage_in_bytes": "1000\n"}, 5300},
		"version 1, beside version 2": {mountVersion1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/job\n0::/job\n", map[string]string{
			"memory/job/memory.limit_in_bytes": "6400\n", "memory/job/memory.usage_in_bytes": "1000\n"}, 5300},
		"version 1, of a parent": {mountVersion1, "4:memory:/job/step\n", map[string]string{
			"memory/job/memory.limit_in_bytes": "6400\n", "memory/job/memory.usage_in_bytes": "3000\n", "memory/job/memory.stat": "inactive_file 3000\ntotal_inactive_file 500\n",
			"memory/job/step/memory.limit_in_bytes": "9223372036854771712\n", "memory/job/step/memory.usage_in_bytes": "1000\n"}, 3800},
		"version 1, with what is swapped out": {mountVersion1, "4:memory:/job\n", map[string]string{
			"memory/job/memory.limit_in_bytes": "6400\n", "memory/job/memory.usage_in_bytes": "1000\n",
			"memory/job/memory.memsw.limit_in_bytes": "6400\n", "memory/job/memory.memsw.usage_in_bytes": "3000\n"}, 3300},
		"version 1, in a container": {"35 31 0:32 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/docker/a\n", map[string]string{
			"memory/memory.limit_in_bytes": "6400\n", "memory/memory.usage_in_bytes": "1000\n"}, 5300},
		"version 1, seen from a container in it": {"35 31 0:32 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/\n", map[string]string{
			"memory/memory.limit_in_bytes": "6400\n", "memory/memory.usage_in_bytes": "1000\n"}, 5300},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{
				"proc/self/mountinfo": {Data: []byte("23 1 254:0 / / rw - ext4 /dev/vda rw\nnonsense\n" + c.mounts)},
				"proc/self/cgroup":    {Data: []byte(c.own)},
			}
			for file, text := range c.files {
				root["sys/fs/cgroup/"+file] = &fstest.MapFile{Data: []byte(text)}
			}
			require.Equal(t, c.want, groupAvailable(root))
		})
	}
	require.EqualValues(t, none, groupAvailable(fstest.MapFS{}), "without /proc")
}

func TestSystemAvailable(t *testing.T) {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:        6400 kB\nMemFree:  1 kB\nMemAvailable:    1000 kB\n")}}
	require.EqualValues(t, 900<<10, systemAvailable(root))
	require.EqualValues(t, math.MaxInt64, systemAvailable(fstest.MapFS{}))
}
