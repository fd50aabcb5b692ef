package partner

import (
	"fmt"

	"github.com/craft-go/craft/storage"
)

// Error says what failed between a rank and its partner. Err matches what the
// cause matches: nodelocal.ErrNoSpace is syscall.ENOSPC after its way here,
// comm.ErrProcFailed says that the partner has died.
type Error struct {
	Op      string // "start", "write", "commit", "abort"
	ID      storage.ID
	Part    storage.Part
	Partner int // rank
	Err     error
}

// Error names the part and the partner.
func (e *Error) Error() string {
	return fmt.Sprintf("%s the copy of %v of %v at partner rank %d: %v", e.Op, e.Part, e.ID, e.Partner, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
