package deadline

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slurm asks squeue for the end of the job. SLURM_JOB_END_TIME is the end as it was when the job
// was started: it counts until squeue has answered.
type slurm struct {
	clock
	job      string    // for squeue -j; empty: only the variable is known
	initial  time.Time // what the variable says; zero: it is not set, or of no use
	unusable error     // why it is of no use
	late     bool      // it had passed when the program was started

	asked bool // squeue has answered
	memo
}

func slurmFromEnv(getenv func(string) string, clock clock) *slurm {
	s := &slurm{clock: clock, job: getenv("SLURM_JOB_ID")}
	variable := getenv("SLURM_JOB_END_TIME")
	if s.job == "" && variable == "" {
		return nil
	}
	// squeue takes the number of one task of an array for the whole array.
	if array, task := getenv("SLURM_ARRAY_JOB_ID"), getenv("SLURM_ARRAY_TASK_ID"); s.job != "" && array != "" && task != "" {
		s.job = array + "_" + task
	}
	if variable == "" {
		return s
	}
	seconds, err := strconv.ParseInt(variable, 10, 64)
	if err != nil {
		s.unusable = fmt.Errorf("SLURM_JOB_END_TIME=%q is not a number of seconds since 1970", variable)
	} else if at := s.convert(time.Unix(seconds, 0)); time.Until(at) > 0 {
		s.initial = at
	} else {
		s.late = true
		s.unusable = fmt.Errorf("SLURM_JOB_END_TIME=%s had passed when this program was started: the limit has been changed since, or nobody enforces it", variable)
	}
	return s
}

// passed reports whether what the variable says has passed.
func (s *slurm) passed() bool { return s.late || !s.initial.IsZero() && time.Until(s.initial) <= 0 }

func (s *slurm) ask(ctx context.Context) (*answer, error) {
	if s.job == "" {
		return s.ofVariable(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	// As seconds no zone matters, and no hour that is repeated. Where that does not arrive (a
	// squeue that asks another host) the answer is local time.
	out, err := run(ctx, []string{"SLURM_TIME_FORMAT=%s"}, "squeue", "-h", "-j", s.job, "-o", "%e")
	if err != nil {
		return s.ofVariable(err)
	}
	end, err := parseSlurmEnd(out, s.wall())
	if err != nil {
		return s.ofVariable(err)
	}
	s.asked = true
	if end.IsZero() {
		return none, nil
	}
	return &answer{at: s.convert(end), by: "Slurm (squeue)"}, nil
}

// patience is how long squeue may take. It is asked before the variable is believed, because a
// limit that was made longer must not end the job; but not for so long that no time is left.
func (s *slurm) patience() time.Duration {
	if s.asked || s.initial.IsZero() {
		return queueTimeout
	}
	return min(queueTimeout, max(time.Until(s.initial)/2, time.Second))
}

// ofVariable answers in place of squeue, which cannot be asked.
func (s *slurm) ofVariable(cause error) (*answer, error) {
	switch {
	case s.asked:
		return nil, cause
	case s.initial.IsZero():
		return nil, errors.Join(s.unusable, cause)
	case errors.Is(cause, exec.ErrNotFound): // as in containers
		return &answer{at: s.initial, by: "Slurm (SLURM_JOB_END_TIME; there is no squeue here)"}, nil
	}
	return &answer{at: s.initial, by: "Slurm (SLURM_JOB_END_TIME)"}, cause
}

func (s *slurm) convert(end time.Time) time.Time {
	return s.memo.at(strconv.FormatInt(end.Unix(), 10), func() time.Time { return s.clock.at(end) })
}

// parseSlurmEnd reads what squeue -o %e has printed: zero if there is no limit. A job of several
// components has a line for each, and ends when the first one does.
func parseSlurmEnd(out string, now time.Time) (end time.Time, err error) {
	lines := strings.Fields(out)
	if len(lines) == 0 {
		return end, errors.New("squeue does not know the job")
	}
	for _, line := range lines {
		t, err := parseSlurmTime(line, now)
		if err != nil {
			return time.Time{}, err
		}
		if !t.IsZero() && (end.IsZero() || t.Before(end)) {
			end = t
		}
	}
	return end, nil
}

func parseSlurmTime(text string, now time.Time) (time.Time, error) {
	if slices.Contains([]string{"n/a", "none", "unknown", "unlimited", "infinite"}, strings.ToLower(text)) {
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0), nil
	}
	if t, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
		return firstAfter(readings(t, now.Location()), now), nil
	}
	return time.Time{}, fmt.Errorf("squeue has printed %q, which is no time", text)
}
