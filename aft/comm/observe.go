package comm

// Observer is told what a rank communicates, as it happens. Its functions are called by
// the goroutine that communicates, may be called concurrently, and must not communicate.
// Any of them may be nil.
type Observer struct {
	// Message is called for each message between two ranks when it is sent, and for
	// each receive when it is posted. Those that collectives are made of are not told.
	Message func(Message)
	// Collective is called when this rank begins its part in a collective or a recovery
	// step, and what it returns, if it is not nil, when that has ended.
	Collective func(Collective) (over func(error))
}

// Message is one between two ranks.
type Message struct {
	Comm  *Comm
	Peer  Rank  // destination, or source: may be AnySource
	Tag   Tag   // of a receive it may be AnyTag
	Bytes int   // of the data, or of the buffer
	Sent  bool  // not received
	Step  int64 // that the program has reached in this zone, as it has said (Session.Step)
}

// Collective is one rank's part in a collective or a recovery step.
type Collective struct {
	Comm *Comm
	Op   string // such as "Allreduce" or "Shrink"
	Step int64
}

// Observe has o told of what this rank communicates from now on, on all communicators of
// the session, in place of who was told before. stop ends that.
func (s *Session) Observe(o *Observer) (stop func()) {
	s.observer.Store(o)
	return func() { s.observer.CompareAndSwap(o, nil) }
}

// observe tells of a message.
func (c *Comm) observe(peer Rank, tag Tag, bytes int, sent bool) {
	if o := c.session.observer.Load(); o != nil && o.Message != nil {
		o.Message(Message{Comm: c, Peer: peer, Tag: tag, Bytes: bytes, Sent: sent, Step: c.session.step.Load()})
	}
}
