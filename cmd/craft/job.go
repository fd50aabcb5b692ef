package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// jobs finds the jobs that write checkpoints here, and what they are asked for.
type jobs struct{ p *program }

// runningJob is a job, and a checkpoint whose lock it holds: what is left there it finds.
type runningJob struct {
	id   string
	dir  string
	lock *lockInfo
}

func (j *runningJob) String() string {
	return fmt.Sprintf("job %s (process %d on host %s)", j.id, j.lock.PID, j.lock.Host)
}

// shortestJob is how many characters of the name of a job are enough, if there is one of these alone.
const shortestJob = 6

// findJob finds the job that JOB of a command line is: a checkpoint whose lock it holds, or its name. Where a lock was given
// back just now it waits for it: a job that is being repaired takes it again.
func (j jobs) findJob(ctx context.Context, command, job string) (*runningJob, error) {
	dirs, byName, err := j.checkpointsOf(job)
	if err != nil {
		return nil, err
	}
	wanted := func(l *lockInfo) bool { return !byName || isJob(l.Job, job) }
	for told := false; ; told = true {
		held, err := j.heldOf(dirs, wanted)
		if err != nil {
			return nil, err
		}
		given := slices.IndexFunc(dirs, func(dir string) bool { return j.givenBack(dir, wanted) })
		switch {
		case slices.ContainsFunc(held, func(j *runningJob) bool { return j.id != "" }), len(held) > 0 && given < 0:
			return chooseJob(command, job, held)
		case given < 0 && byName:
			return nil, fmt.Errorf("%s is no checkpoint, here or in %s, nor a job that holds the lock of one there", job, defaultBase())
		case given < 0:
			return nil, fmt.Errorf("%s is not locked: no job runs there that could be asked (craft ls shows locks)", strings.Join(dirs, ", "))
		case !told:
			j.p.say("the lock of %s was given back just now: waiting for up to %v whether its job is being repaired, and takes it again", dirs[given], j.p.lock.Patience)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(answerEvery):
		}
	}
}

// heldOf are the jobs that hold the locks of checkpoints, as far as they are wanted.
func (j jobs) heldOf(dirs []string, wanted func(*lockInfo) bool) (held []*runningJob, err error) {
	for _, dir := range dirs {
		l, err := readLock(j.p.fs, dir)
		if err != nil {
			return nil, err
		}
		if l != nil && wanted(l) {
			held = append(held, &runningJob{l.Job, dir, l})
		}
	}
	return held, nil
}

// givenBack reports whether the lock of a checkpoint was given back so short a time ago that its job may take it again, which
// it does behind a repair. The job that was asked to end, or was finished, or whose rank 0 is known to have ended, does not.
func (j jobs) givenBack(dir string, wanted func(*lockInfo) bool) bool {
	l, err := readLock(j.p.fs, dir)
	if err != nil || l != nil && l.Job != "" && !wanted(l) { // without a name it is being taken
		return false
	}
	records, _ := filestore.Records(j.p.fs, dir) // as far as they can be read
	if len(records) == 0 {
		return false
	}
	last := records[len(records)-1]
	age := j.p.screen.now().Sub(last.Updated).Abs() // the clock is that of another host
	ended := last.Host == procid.This().Host && procid.Of(last.PID).State() == procid.Dead
	return age < j.p.lock.Patience && last.End == "" && !last.Finished && !ended
}

// chooseJob returns the one job that runs of those whose locks were found.
func chooseJob(command, job string, held []*runningJob) (*runningJob, error) {
	if named := slices.DeleteFunc(slices.Clone(held), func(j *runningJob) bool { return j.id != job }); len(named) > 0 {
		held = named // and others begin with that
	}
	running := slices.DeleteFunc(slices.Clone(held), func(j *runningJob) bool { return j.lock.State == "dead" || j.id == "" })
	if len(running) == 0 {
		return nil, fmt.Errorf("%s is locked by %v, which has ended: there is no job that could be asked", held[0].dir, held[0].lock.owner)
	}
	// What is around the others has its lock first, and keeps it longest.
	slices.SortStableFunc(running, func(a, b *runningJob) int { return a.lock.owner.Since.Compare(b.lock.owner.Since) })
	var calls []string
	for i, j := range running {
		if slices.IndexFunc(running, func(other *runningJob) bool { return other.id == j.id }) == i {
			calls = append(calls, "craft "+command+" "+j.dir)
		}
	}
	if len(calls) > 1 {
		return nil, fmt.Errorf("%s may be any of %d jobs; try: %s", job, len(calls), strings.Join(calls[:min(4, len(calls))], ", "))
	}
	return running[0], nil
}

// isJob reports whether text is, or begins, the name of a job.
func isJob(id, text string) bool {
	return id == text || len(text) >= shortestJob && strings.HasPrefix(id, text)
}

// checkpointsOf are the directories of the checkpoints that JOB may mean: at this path, or below the
// base directory, or, if there is no such path, all of the base directory: then it is the name of a job.
func (j jobs) checkpointsOf(job string) (dirs []string, byName bool, err error) {
	for _, path := range []string{job, filepath.Join(defaultBase(), job)} {
		if path != job && !filepath.IsLocal(job) {
			break
		}
		dirs, err := j.checkpointsAt(path)
		if err == nil && len(dirs) == 0 {
			err = (&location{path: path}).nothing()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return dirs, false, err
		}
	}
	if strings.ContainsRune(job, filepath.Separator) || job == "" {
		return nil, false, fmt.Errorf("%s does not exist: no checkpoint", job)
	}
	dirs, err = j.checkpointsAt(defaultBase())
	return dirs, true, err
}

// checkpointsAt are the checkpoints in a base directory, or the one that the path is.
func (j jobs) checkpointsAt(path string) (dirs []string, err error) {
	info, err := j.p.fs.Stat(path)
	if err != nil {
		return nil, err
	}
	if _, version := storage.ParseID(filepath.Base(path)); version || !info.IsDir() {
		return nil, fmt.Errorf("%s is not the directory of a checkpoint; locks are there", path)
	}
	names, err := j.p.fs.ReadDir(path)
	if err != nil {
		return nil, err
	}
	if isUsed(names) {
		return []string{path}, nil
	}
	for _, n := range names {
		dir := filepath.Join(path, n.Name())
		if storage.CheckName("checkpoint name", n.Name()) != nil {
			continue
		}
		if is, err := isDir(j.p.fs, n, dir); err != nil || !is {
			continue
		}
		below, err := j.p.fs.ReadDir(dir)
		if vfs.IgnoreMissing(err) != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if isUsed(below) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// isUsed recognises the directory of a checkpoint, also of one that has stored nothing yet.
func isUsed(names []fs.DirEntry) bool {
	return isCheckpoint(names) || slices.ContainsFunc(names, func(n fs.DirEntry) bool { return n.Name() == filestore.LockName })
}

// requestsOf are the requests beside a checkpoint. The files get the mode of what its job writes.
func (j jobs) requestsOf(dir string) *filestore.Requests {
	r := filestore.RequestsIn(j.p.fs, dir)
	if mode := r.Mode(); j.p.fs == vfs.OS() && mode != 0o600 {
		return filestore.RequestsIn(vfs.OSWithMode(mode), dir)
	}
	return r
}

// whoAsks is this user, for people.
func whoAsks() string {
	host, _ := os.Hostname()
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	return name + "@" + cmp.Or(host, "unknown")
}

// oneJob checks the arguments of a command that is about a job.
func oneJob(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 1:
		return &usageError{fmt.Errorf("which job? the directory of its checkpoint, or its name; usage: %s", cmd.UseLine())}
	case len(args) > 1:
		return &usageError{fmt.Errorf("one job at a time, not %d; usage: %s", len(args), cmd.UseLine())}
	}
	return nil
}
