package control

// census counts processes, so that what happens to one is no reason to look at all.
type census struct {
	awake    int // those that run, or will, and are not asleep
	starting int // of these, that have not said Hello
	ends     int // processes that have failed or left, and that have failed after all
}

// count notes that p is awake, or (by -1) that it is not any more.
func (p *process) count(by int) {
	c := p.node.census
	c.awake += by
	p.node.load += by
	if p.state == starting {
		c.starting += by
	}
}

// wake has a spare rank stand for an original rank.
func (p *process) wake(o Original) {
	p.original = o
	p.count(+1)
}

// join notes that p has said Hello.
func (p *process) join(c contact) {
	if !p.asleep() {
		p.node.census.starting--
	}
	p.state, p.contact = alive, c
}

// end notes that p has failed or left.
func (p *process) end(state procState) {
	if p.present() {
		p.node.present--
		if !p.asleep() {
			p.count(-1)
		}
	}
	p.state = state
	p.node.census.ends++
}
