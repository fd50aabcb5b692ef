package checkpoint

import (
	"crypto/rand"
	"crypto/sha256"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// CRAFT_READ_CP_ON_RESTART=0 is about the start of a job: when the job recovers it reads
// what it has written itself, and nothing older. All that a job writes after such a start
// is of one lineage, which has its name from the job, so that a process that has taken
// the place of another one knows it, too.

// recovers reports, on rank 0, whether only what the job itself has written is read.
func (l *lineage) recovers() bool {
	repairs, _ := l.comm.Session().Recovered()
	return repairs > 0 && !l.opt.ReadOnRestart
}

// newLineage is the lineage of a run that has restored nothing.
func (l *lineage) newLineage() container.LineageID {
	var id container.LineageID
	if !l.opt.ReadOnRestart && l.comm.Session().JobName() != "" {
		id = l.freshLineage()
	}
	if id == (container.LineageID{}) {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id
}

// beganAnew is the lineage of a computation that was begun without reading what is
// stored, by this run with the lineage drawn or by the last one, if nothing of it is
// restored; zero: there is none. What is nested in this checkpoint may have versions of an
// older one.
func (l *lineage) beganAnew(found survey, restored *container.Header, drawn container.LineageID) container.LineageID {
	runs := found.told.Runs
	switch {
	case l.parent != nil || restored != nil:
	case !l.opt.ReadOnRestart, !l.attempt.read:
		return drawn
	case found.anew != nil:
		return *found.anew
	case len(runs) > 0:
		if l, ok := storage.ParseLineage(runs[len(runs)-1].Anew); ok {
			return l
		}
	}
	return container.LineageID{}
}

// freshLineage is the lineage of what the job has written since it began without
// reading; zero if it is not known, because there is none.
func (l *lineage) freshLineage() container.LineageID {
	if l.parent != nil {
		return l.parent.attempt.lineage
	}
	var id container.LineageID
	if job := l.comm.Session().JobName(); job != "" {
		sum := sha256.Sum256([]byte(job + "\x00" + l.name))
		copy(id[:], sum[:])
	}
	return id
}
