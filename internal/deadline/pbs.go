package deadline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// pbs asks qstat for the limit of the job and for its start. The limit counts from the start of
// the job, of which this program may be the second one. Torque tells a job its limit, but not its
// start: where qstat does not answer, that is when the list of its nodes was written. OpenPBS
// tells a job neither.
type pbs struct {
	clock
	job      string
	walltime string // PBS_WALLTIME, of Torque
	nodefile string // PBS_NODEFILE

	asked bool      // qstat has answered
	start time.Time // of the job, as far as that has to be estimated
	memo            // the start that is told
}

func pbsFromEnv(getenv func(string) string, clock clock) *pbs {
	if getenv("PBS_JOBID") == "" {
		return nil
	}
	return &pbs{clock: clock, job: getenv("PBS_JOBID"), walltime: getenv("PBS_WALLTIME"), nodefile: getenv("PBS_NODEFILE")}
}

func (p *pbs) ask(ctx context.Context) (*answer, error) {
	began := time.Now()
	out, err := run(ctx, nil, "qstat", "-f", p.job)
	if err != nil {
		return p.ofVariables(err)
	}
	job, err := parseQstat(out)
	if err != nil {
		return p.ofVariables(err)
	}
	if job.limit == 0 {
		p.asked = true
		return none, nil
	}
	start, err := p.startOf(job, began)
	if err != nil {
		return p.ofVariables(err)
	}
	p.asked = true
	return &answer{at: start.Add(job.limit), by: "PBS (qstat)"}, nil
}

// startOf is when the job was started. Where only the time used is told, that may be minutes old:
// the earliest start that follows is the best one.
func (p *pbs) startOf(job pbsJob, asked time.Time) (time.Time, error) {
	if job.start != "" {
		start, err := parseTimeOfPBS(job.start, p.wall())
		if err != nil {
			return start, err
		}
		return p.memo.at(job.start, func() time.Time { return p.clock.at(start) }), nil
	}
	if job.used < 0 {
		return time.Time{}, errors.New("qstat tells neither when the job was started nor how long it has run")
	}
	if start := asked.Add(-job.used); p.start.IsZero() || start.Before(p.start) {
		p.start = start
	}
	return p.start, nil
}

// ofVariables answers in place of qstat, which cannot be asked.
func (p *pbs) ofVariables(cause error) (*answer, error) {
	if p.asked || p.walltime == "" {
		return nil, cause
	}
	limit, err := parseDurationOfPBS(p.walltime)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("PBS_WALLTIME: %w", err), cause)
	}
	written, err := os.Stat(p.nodefile)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("nothing tells when the job was started (PBS_NODEFILE): %w", err), cause)
	}
	start := p.memo.at(p.nodefile, func() time.Time { return p.clock.at(written.ModTime()) })
	return &answer{at: start.Add(limit), by: "PBS (PBS_WALLTIME)"}, cause
}

// pbsJob is what qstat tells of a job.
type pbsJob struct {
	limit time.Duration // 0: there is none
	start string        // empty: not told
	used  time.Duration // below 0: not told
}

// parseQstat reads what qstat -f has printed: lines "    name = value", long values over several
// lines, of which the others begin with a tab.
func parseQstat(out string) (pbsJob, error) {
	values := make(map[string]string)
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "\t") {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	job := pbsJob{used: -1}
	if values["job_state"] == "" {
		return job, errors.New("qstat does not know the job")
	}
	job.start = values["stime"] // OpenPBS
	if job.start == "" {
		job.start = values["start_time"] // Torque
	}
	var err error
	if text := values["Resource_List.walltime"]; text != "" {
		if job.limit, err = parseDurationOfPBS(text); err != nil {
			return job, fmt.Errorf("qstat, Resource_List.walltime: %w", err)
		}
	}
	if text := values["Walltime.Remaining"]; text != "" { // older ones of Torque
		left, err := parseDurationOfPBS(text)
		if err != nil {
			return job, fmt.Errorf("qstat, Walltime.Remaining: %w", err)
		}
		job.used = job.limit - left
	} else if text := values["resources_used.walltime"]; text != "" {
		if job.used, err = parseDurationOfPBS(text); err != nil {
			return job, fmt.Errorf("qstat, resources_used.walltime: %w", err)
		}
	}
	return job, nil
}

// parseDurationOfPBS reads [[[days:]hours:]minutes:]seconds[.fraction].
func parseDurationOfPBS(text string) (time.Duration, error) {
	units := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}
	fields := strings.Split(text, ":")
	seconds, _, _ := strings.Cut(fields[len(fields)-1], ".")
	fields[len(fields)-1] = seconds
	var total time.Duration
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 31)
		unit := len(fields) - 1 - i
		if err != nil || unit >= len(units) {
			return 0, fmt.Errorf("%q is not a time of PBS such as 01:30:00 or 5400", text)
		}
		total += time.Duration(n) * units[unit]
	}
	return total, nil
}

// parseTimeOfPBS reads a time as qstat prints it, which is local. Some print it as seconds first.
func parseTimeOfPBS(text string, now time.Time) (time.Time, error) {
	first, _, _ := strings.Cut(text, " ")
	if seconds, err := strconv.ParseInt(first, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	t, err := time.Parse(time.ANSIC, text)
	if err != nil {
		return t, fmt.Errorf("qstat has printed %q as the start of the job, which is no time", text)
	}
	return readings(t, now.Location())[0], nil // of two the one that leaves less time
}
