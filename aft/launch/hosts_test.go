package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseHosts(t *testing.T) {
	hosts, err := ParseHosts("a, b:2,10.0.0.1,[fe80::1%eth0]:3,user@c")
	require.NoError(t, err)
	require.Equal(t, []Host{{"a", 0}, {"b", 2}, {"10.0.0.1", 0}, {"fe80::1%eth0", 3}, {"user@c", 0}}, hosts)

	for list, says := range map[string]string{
		"":            "no name",
		"a,,b":        "no name",
		"a:0":         "1 or more",
		"a:-1":        "1 or more",
		"a:":          "must follow the colon",
		"a:x":         "1 or more",
		"fd00::7:2":   "in brackets",
		"fe80::1":     "in brackets",
		"[fe80::1":    "in brackets",
		"a,a":         "listed twice",
		"-oProxy=x":   "not allowed",
		"a b":         "not allowed",
		"a;rm":        "not allowed",
		"$(touch x)":  "not allowed",
		"a,b:9999e99": "1 or more",
	} {
		_, err := ParseHosts(list)
		require.ErrorContains(t, err, says, list)
	}
}

func TestReadHostfile(t *testing.T) {
	hosts, err := ReadHostfile(strings.NewReader("# machines\n\na\nb:2 # two\n c slots=3\n"))
	require.NoError(t, err)
	require.Equal(t, []Host{{"a", 0}, {"b", 2}, {"c", 3}}, hosts)
	for text, says := range map[string]string{
		"a\nb max=3": "line 2", "a slots=x": "line 1", "": "no hosts", "a\n\na": "twice",
	} {
		_, err := ReadHostfile(strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
	}
}

func TestSlurmHosts(t *testing.T) {
	hosts, err := slurmHosts("n[01-03,7],login,r[1-2]c[0-1]", "2(x3),1,4,3(x4)")
	require.NoError(t, err)
	require.Equal(t, []Host{
		{"n01", 2}, {"n02", 2}, {"n03", 2}, {"n7", 1}, {"login", 4}, {"r1c0", 3}, {"r1c1", 3}, {"r2c0", 3}, {"r2c1", 3},
	}, hosts)
	hosts, err = slurmHosts("tux[098-101]-ib", "")
	require.NoError(t, err)
	require.Equal(t, []Host{{"tux098-ib", 0}, {"tux099-ib", 0}, {"tux100-ib", 0}, {"tux101-ib", 0}}, hosts)

	for _, bad := range []struct{ list, tasks, says string }{
		{"n[1-2", "", "bracket"},
		{"n[2-1]", "", "range"},
		{"n[]", "", "range"},
		{"n[1-99999999]", "", "more than"},
		{"n[0-9999]m[0-9999]", "", "more than"},
		{"n1,n1", "", "twice"},
		{"n[1-2]", "2", "for 1 nodes"},
		{"n[1-2]", "2(x)", "not such as"},
		{"n[1-2]", "0(x2)", "not such as"},
		{"n[1-2]", "2(x99999999)", "not such as"},
		{"a b", "", "not allowed"},
	} {
		_, err := slurmHosts(bad.list, bad.tasks)
		require.ErrorContains(t, err, bad.says, "%v", bad)
		require.ErrorContains(t, err, "SLURM_")
	}
}

func FuzzSlurmHosts(f *testing.F) {
	f.Add("n[01-03,7],login,r[1-2]c[0-1]", "2(x3),1,4,3(x4)")
	f.Add("a", "")
	f.Add("a[[1-2]", "1")
	f.Fuzz(func(t *testing.T, list, tasks string) {
		hosts, err := slurmHosts(list, tasks)
		if err != nil {
			return
		}
		require.NotEmpty(t, hosts)
		require.LessOrEqual(t, len(hosts), maxHosts)
		for _, h := range hosts {
			require.NoError(t, checkHostName(h.Name))
			require.Equal(t, tasks == "", h.Slots == 0)
		}
	})
}

func FuzzParseHosts(f *testing.F) {
	f.Add("a,b:2,[::1]:3")
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := ParseHosts(list)
		if err != nil {
			return
		}
		for _, h := range hosts {
			require.NoError(t, checkHostName(h.Name))
			require.GreaterOrEqual(t, h.Slots, 0)
		}
	})
}

func TestAllocation(t *testing.T) {
	t.Setenv("SLURM_JOB_NODELIST", "")
	file := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.WriteFile(file, []byte("a \na\t\n b\r\n\na\n"), 0o600))
	t.Setenv("PBS_NODEFILE", file)
	hosts, err := Allocation()
	require.NoError(t, err)
	require.Equal(t, []Host{{"a", 3}, {"b", 1}}, hosts)

	t.Setenv("PBS_NODEFILE", file+"x")
	_, err = Allocation()
	require.ErrorContains(t, err, "PBS_NODEFILE")

	t.Setenv("SLURM_JOB_NODELIST", "n[1-2]")
	t.Setenv("SLURM_TASKS_PER_NODE", "4(x2)")
	hosts, err = Allocation()
	require.NoError(t, err)
	require.Equal(t, []Host{{"n1", 4}, {"n2", 4}}, hosts)

	t.Setenv("SLURM_STEP_TASKS_PER_NODE", "1") // salloc with a shell on the node
	hosts, err = Allocation()
	require.NoError(t, err)
	require.Equal(t, []Host{{"n1", 4}, {"n2", 4}}, hosts)
	t.Setenv("SLURM_TASKS_PER_NODE", "1") // srun -n 1: those of the allocation are not known
	hosts, err = Allocation()
	require.NoError(t, err)
	require.Equal(t, []Host{{"n1", 0}, {"n2", 0}}, hosts)
}
