package checkpoint

import (
	"errors"
	"sync"
)

// mode is the mode in which versions are written now.
func (c *core) mode() AsyncMode {
	if c.private {
		return AsyncCopy
	}
	return c.opt.mode()
}

// distrusted are the directories of checkpoints of this process whose values have
// changed while they were written. A program makes a checkpoint anew for each stage
// of a loop and after each failure, and would lose a version each time.
var distrusted sync.Map

// trust looks whether the program is known not to keep the rule of zero-copy.
func trust(c *core) {
	if c.opt.mode() == AsyncZeroCopy && !c.opt.modeGiven {
		_, c.private = distrusted.Load(c.dir())
	}
}

// distrust goes over to copying if a version has failed because the program does not
// keep that rule, which it need not know of: it has not asked for zero-copy itself.
// All ranks get the same error.
func distrust(c *core, failed error) {
	if c.mode() != AsyncZeroCopy || c.opt.modeGiven || !errors.Is(failed, ErrChanged) {
		return
	}
	c.private = true
	distrusted.Store(c.dir(), true)
	c.rootLog.Warn("CRAFT_WRITE_ASYNC_ZERO_COPY=1 is not for this program: it changes values before Wait has returned; from now on they are copied first, as with CRAFT_WRITE_ASYNC=1",
		"error", failed)
}
