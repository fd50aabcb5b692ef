package deadline

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const qstatOpenPBS = `Job Id: 12.server
    Job_Name = lanczos
    Job_Owner = ann@login
    resources_used.cpupercent = 99
    resources_used.walltime = 00:07:03
    job_state = R
    queue = workq
    ctime = Thu Jun  4 01:00:00 2026
    Error_Path = login:/home/ann/a/very/long/path/that/is/continued/on/the/next/l
	ine = of the same value
    Resource_List.ncpus = 4
    Resource_List.select = 1:ncpus=4
    Resource_List.walltime = 02:00:00
    stime = Thu Jun  4 01:01:00 2026
    Variable_List = PBS_O_HOME=/home/ann,PBS_O_SHELL=/bin/bash,
	PBS_O_WORKDIR=/home/ann,NOTE=what has this line begun before its
	stime = Mon Jan  1 00:00:00 2001
    project = _pbs_project_default
`

const qstatTorque = `Job Id: 548.moab
    Job_Name = STDIN
    job_state = R
    Resource_List.walltime = 01:00:00
    start_time = Thu Feb 22 14:27:48 2018
    Walltime.Remaining = 3593
`

func TestQstatFormats(t *testing.T) {
	for out, want := range map[string]pbsJob{
		qstatOpenPBS:                     {limit: 2 * time.Hour, start: "Thu Jun  4 01:01:00 2026", used: 7*time.Minute + 3*time.Second},
		qstatTorque:                      {limit: time.Hour, start: "Thu Feb 22 14:27:48 2018", used: 7 * time.Second},
		"Job Id: 1\n    job_state = R\n": {used: -1},
		"Job Id: 1\n    job_state = R\n    Resource_List.walltime = 90\n":                                             {limit: 90 * time.Second, used: -1},
		"Job Id: 1\n    job_state = R\n    Resource_List.walltime = 1:00:00:00\n    resources_used.walltime = 5:00.7": {limit: 24 * time.Hour, used: 5 * time.Minute},
	} {
		job, err := parseQstat(out)
		require.NoError(t, err, out)
		require.Equal(t, want, job, out)
	}
	for _, out := range []string{"", "garbage", "Job Id: 1\n", "    job_state = R\n    Resource_List.walltime = 1h\n", "    job_state = R\n    resources_used.walltime = -5\n", "    job_state = R\n    Walltime.Remaining = soon\n"} {
		_, err := parseQstat(out)
		require.Error(t, err, out)
	}
	for _, text := range []string{"", ":", "1:", "1:1:1:1:1", "-1", "1h", "1:-1"} {
		_, err := parseDurationOfPBS(text)
		require.Error(t, err, text)
	}
}

func TestStartTimesOfPBS(t *testing.T) {
	now := parseUTC(t, "2026-10-25T09:00:00Z").In(zone(t, "Europe/Berlin"))
	for text, want := range map[string]string{
		"Thu Jun  4 01:01:00 2026":                  "2026-06-03T23:01:00Z",
		"Thu Jun 04 01:01:00 2026":                  "2026-06-03T23:01:00Z",
		"Sun Oct 25 02:30:00 2026":                  "2026-10-25T00:30:00Z", // twice: the one that leaves less time
		"Sun Mar 29 02:30:00 2026":                  "2026-03-29T01:00:00Z",
		"1649348639 (Thu Apr 07 12:23:59 EDT 2022)": "2022-04-07T16:23:59Z",
		"1649348639":                                "2022-04-07T16:23:59Z",
	} {
		start, err := parseTimeOfPBS(text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, start.UTC().Format(time.RFC3339), text)
	}
	_, err := parseTimeOfPBS("yesterday", now)
	require.ErrorContains(t, err, `"yesterday"`)
}

// askPBS asks for the deadline of a job with the variables, and returns how much it leaves.
func askPBS(t *testing.T, p *pbs) (time.Duration, string, error) {
	t.Helper()
	a, err := p.ask(t.Context())
	if a == nil {
		return 0, "", err
	}
	return time.Until(a.at), a.by, err
}

// job is what qstat says of a job with a limit of two hours.
func job(lines string) string {
	return "cat <<'END'\nJob Id: 12.server\n    job_state = R\n    Resource_List.walltime = 02:00:00\n" + lines + "\nEND"
}

// TestTheLimitCountsFromTheStartOfTheJob, which is half an hour older than the program, whatever
// tells the start.
func TestTheLimitCountsFromTheStartOfTheJob(t *testing.T) {
	start := time.Now().Add(-30 * time.Minute)
	for name, lines := range map[string]string{
		"OpenPBS":             "    stime = " + start.Format(time.ANSIC) + "\n    resources_used.walltime = 00:05:00",
		"Torque":              "    start_time = " + start.Format(time.ANSIC) + "\n    Walltime.Remaining = 10",
		"the time left":       "    Walltime.Remaining = 5400",
		"the time used alone": "    resources_used.walltime = 00:30:00",
	} {
		command(t, "qstat", `[ "$*" = "-f 12.server" ] || exit 1`+"\n"+job(lines))
		p := pbsFromEnv(environment(map[string]string{"PBS_JOBID": "12.server"}), clock{time.Now})
		left, by, err := askPBS(t, p)
		require.NoError(t, err, name)
		require.InDelta(t, 90*time.Minute, left, minute, name)
		require.Equal(t, "PBS (qstat)", by)
	}
	require.Nil(t, pbsFromEnv(environment(map[string]string{"PBS_WALLTIME": "3600"}), clock{time.Now}))
}

// TestALimitThatIsChanged takes effect, and one that is taken back too. What fails then changes
// nothing.
func TestALimitThatIsChanged(t *testing.T) {
	stime := "    stime = " + time.Now().Add(-30*time.Minute).Format(time.ANSIC)
	nodes := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.WriteFile(nodes, nil, 0o600))
	p := pbsFromEnv(environment(map[string]string{"PBS_JOBID": "12.server", "PBS_WALLTIME": "7200", "PBS_NODEFILE": nodes}), clock{time.Now})
	command(t, "qstat", job(stime))
	left, _, err := askPBS(t, p)
	require.NoError(t, err)
	require.InDelta(t, 90*time.Minute, left, minute)
	command(t, "qstat", job(stime+"\n    Resource_List.walltime = 03:00:00"))
	left, _, err = askPBS(t, p)
	require.NoError(t, err)
	require.InDelta(t, 150*time.Minute, left, minute)

	for _, script := range []string{"exit 1", "true", "echo garbage", job("    stime = soon"), job("    Resource_List.walltime = long")} {
		command(t, "qstat", script)
		a, err := p.ask(t.Context())
		require.Error(t, err, script)
		require.Nil(t, a)
	}

	command(t, "qstat", "echo '    job_state = R'")
	a, err := p.ask(t.Context())
	require.NoError(t, err)
	require.Equal(t, none, a)
}

// TestTimeUsedIsOldWhenItIsTold: the earliest start that it tells of counts.
func TestTimeUsedIsOldWhenItIsTold(t *testing.T) {
	p := pbsFromEnv(environment(map[string]string{"PBS_JOBID": "12.server"}), clock{time.Now})
	for _, c := range []struct {
		used string
		left time.Duration
	}{{"00:10:00", 110 * time.Minute}, {"00:14:00", 106 * time.Minute}, {"00:12:00", 106 * time.Minute}} {
		command(t, "qstat", job("    resources_used.walltime = "+c.used))
		left, _, err := askPBS(t, p)
		require.NoError(t, err)
		require.InDelta(t, c.left, left, minute)
	}
}

// TestTorqueWithoutQstat: the limit is in the environment, the start is that of the job's list of
// nodes, and never that of the program.
func TestTorqueWithoutQstat(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	nodes := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.WriteFile(nodes, []byte("n01\n"), 0o600))
	written := time.Now().Add(-20 * time.Minute)
	require.NoError(t, os.Chtimes(nodes, written, written))
	for _, limit := range []string{"3600", "01:00:00"} {
		left, by, err := askPBS(t, pbsFromEnv(environment(map[string]string{"PBS_JOBID": "12", "PBS_WALLTIME": limit, "PBS_NODEFILE": nodes}), clock{time.Now}))
		require.ErrorContains(t, err, "qstat")
		require.InDelta(t, 40*time.Minute, left, minute)
		require.Equal(t, "PBS (PBS_WALLTIME)", by)
	}
	for problem, vars := range map[string]map[string]string{
		"PBS_NODEFILE":       {"PBS_WALLTIME": "3600"},
		nodes + ".gone":      {"PBS_WALLTIME": "3600", "PBS_NODEFILE": nodes + ".gone"},
		`"1h" is not a time`: {"PBS_WALLTIME": "1h", "PBS_NODEFILE": nodes},
		"executable file":    {}, // OpenPBS
	} {
		vars["PBS_JOBID"] = "12"
		a, err := pbsFromEnv(environment(vars), clock{time.Now}).ask(t.Context())
		require.Nil(t, a, problem)
		require.ErrorContains(t, err, problem)
		require.ErrorContains(t, err, "qstat", problem)
	}
}

// TestPBSAndAClockThatIsSet: a start that was told before stays where it was.
func TestPBSAndAClockThatIsSet(t *testing.T) {
	c, set := at(time.Now())
	for name, lines := range map[string]string{
		"start": "    stime = " + time.Now().Add(-30*time.Minute).Format(time.ANSIC),
		"left":  "    Walltime.Remaining = 5400",
	} {
		command(t, "qstat", job(lines))
		p := pbsFromEnv(environment(map[string]string{"PBS_JOBID": "12.server"}), c)
		set.to(0)
		for range 2 {
			left, _, err := askPBS(t, p)
			require.NoError(t, err)
			require.InDelta(t, 90*time.Minute, left, minute, fmt.Sprint(name, set.ahead.Load()))
			set.by(40 * time.Minute)
		}
	}
}
