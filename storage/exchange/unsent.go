package exchange

// Block is how many bytes of a stream its writer may hold back at most until it
// is told that there is more, or that it was all. Who takes in several streams
// in step has to leave room for that much of each.
func (s *Service) Block() int { return s.opts.Block }
