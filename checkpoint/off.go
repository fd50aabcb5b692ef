package checkpoint

import (
	"context"
	"errors"
)

// errOff is why nothing is stored at the end of a job without checkpoints.
var errOff = errors.New("checkpoints are switched off")

// WithEnable says whether calls do anything, as CRAFT_ENABLE does.
func WithEnable(enable bool) Option { return func(o *options) { o.Enable = enable } }

// callOff is a call of a checkpoint that is switched off: the job can be asked to end all the same.
func (m *meetings) callOff(ctx context.Context, call string) error {
	at, err := m.arrive(ctx, call)
	if err != nil || at == nil {
		return err
	}
	end := at.Ends()
	m.lane.Done(at)
	if m.root() {
		at.Stored()
	}
	if end == nil {
		return nil
	}
	m.ended = m.newEnd(end)
	m.ended.Err = errOff
	return m.ended
}
