package container

import "fmt"

// loan is memory of somebody else's that is given back when it has been
// written. The zero loan is the user's memory, which needs no giving back.
type loan struct {
	buf   *buffer // one of the encoder's
	feed  Feeder  // or a piece of a feed
	token int64
}

// giveBack ends a loan.
func (r *encoding) giveBack(l loan) {
	switch {
	case l.buf != nil:
		r.spare <- l.buf
	case l.feed != nil:
		l.feed.Release(l.token)
	}
}

// feed makes the chunks of a section that is still being captured.
func (r *encoding) feed(i int) error {
	s := &r.sections[i]
	total := int64(0)
	for c := 0; ; c++ {
		p, token, last, err := s.Feed.Next(r.ctx)
		if err != nil {
			if r.ctx.Err() != nil {
				return errStopped
			}
			return fmt.Errorf("container: section %q: %w", s.Key, err)
		}
		l := loan{feed: s.Feed, token: token}
		if len(p) > r.opts.ChunkSize || !last && len(p) < r.opts.ChunkSize {
			r.giveBack(l)
			return &SectionError{Key: s.Key, Index: i, Reason: fmt.Sprintf("its feed gave a piece of %d bytes (allowed: %d, or less for the last)", len(p), r.opts.ChunkSize)}
		}
		total += int64(len(p))
		if len(p) == 0 {
			r.giveBack(l)
		} else if err := r.chunk(i, c, r.one.memory(p), l); err != nil {
			return err
		}
		if last {
			return r.sized(i, total)
		}
	}
}

// sized says how many bytes a section had of which this was not known before.
func (r *encoding) sized(i int, total int64) error {
	en := &r.x.entries[i]
	en.geom.size = total
	if p := en.problem(); p != "" {
		return &SectionError{Key: en.key, Index: i, Reason: p}
	}
	return nil
}
