package erasure

import (
	"cmp"
	"slices"

	"github.com/craft-go/craft/storage/container"
)

// rememberEnded is how many versions that have ended are remembered, each with
// what has come of it. It is far more than versions are written at once.
const rememberEnded = 64

// ended remembers the versions whose parity has been made, or will not be: a
// stream that comes late gets the answer that the others got. Of those that are
// forgotten, only the newest number of each attempt is kept: versions are written
// in order, so whatever comes for that one or older ones is too late too.
type ended struct {
	last      []outcome
	forgotten map[container.AttemptID]uint64
}

type outcome struct {
	version version
	err     error // nil: the parity has been made
}

func (e *ended) add(v version, err error) {
	if len(e.last) == rememberEnded {
		old := e.last[0].version.id
		if e.forgotten == nil {
			e.forgotten = make(map[container.AttemptID]uint64)
		}
		e.forgotten[old.Attempt] = max(e.forgotten[old.Attempt], old.Version)
		e.last = e.last[1:]
	}
	e.last = append(slices.Clip(e.last), outcome{v, err})
}

// find returns the error for what comes too late, nil if the version has not
// ended.
func (e *ended) find(v version) error {
	for _, o := range e.last {
		if o.version == v {
			return cmp.Or(o.err, ofVersion(v.id, ErrOver))
		}
	}
	if newest, known := e.forgotten[v.id.Attempt]; known && v.id.Version <= newest {
		return ofVersion(v.id, ErrOver)
	}
	return nil
}
