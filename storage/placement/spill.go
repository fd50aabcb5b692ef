package placement

import (
	"errors"
	"io"

	"github.com/craft-go/craft/storage"
)

// spill starts the part at home because the node does not take it.
func (w *writer) spill(why error) (err error) {
	problem := refusal(why)
	if problem == "" {
		return why
	}
	own, err := w.s.Home.Create(w.ctx, w.id, w.part)
	if err != nil {
		return errors.Join(why, err)
	}
	w.own, w.spilled, w.stuck = own, true, stuck(why)
	w.s.tell(w.s.refusing.raise(problem), problem+": a part goes to the parallel file system",
		"version", w.id.Version, "rank", w.part.Rank, "directory", w.s.Root, "error", why)
	return nil
}

// took notes that the node has taken a part.
func (s *Placement) took() {
	if over := s.refusing.ease(); over != "" {
		s.log.Info("the node takes parts again", "rank", int(s.me), "directory", s.Root, "was", over)
	}
}

// avoidFor is how many parts go to the home at once when the node has failed as
// one was published, which is too late to send it elsewhere: if the disk fails
// whenever its cache is written, or has blocks looked for only then (a quota, a thin
// volume), no part would be stored.
const avoidFor = 10

// avoid keeps the next parts off the node.
func (s *Placement) avoid(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.avoiding, s.avoidedFor = avoidFor, why
}

// avoided returns why the node is not to be asked for the next part; nil if it is.
func (s *Placement) avoided() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.avoiding == 0 {
		return nil
	}
	s.avoiding--
	return s.avoidedFor
}

// moveHome goes on at home in the middle of a part.
func (w *writer) moveHome(why error) error {
	full := w.own
	back, ok := full.(storage.ReadBack)
	if !ok {
		return why
	}
	if err := w.spill(why); err != nil {
		return err
	}
	r, size := back.Written()
	_, err := io.Copy(w.own, io.NewSectionReader(r, 0, size))
	if aborted := full.Abort(); err == nil && aborted != nil {
		w.s.log.Debug("a part that did not fit is not removed", "directory", w.s.Root, "error", aborted)
	}
	if err != nil {
		return errors.Join(why, err)
	}
	return nil
}
