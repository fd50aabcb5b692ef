package comm

// branch is a rank's place in a tree.
type branch struct {
	parent   Rank // -1 at the root
	children []Rank
	span     int // number of ranks from this one on that are below it, it included
}

// binomial is the tree in which rank root+i has the parent whose i lacks the
// lowest bit; the children with most descendants come first.
func binomial(c *Comm, root Rank) branch {
	n := c.Size()
	rel := (int(c.Rank()) - int(root) + n) % n
	at := func(rel int) Rank { return Rank((rel + int(root)) % n) }
	b := branch{parent: -1}
	bit := 1
	for bit < n && rel&bit == 0 {
		bit *= 2
	}
	b.span = min(bit, n-rel)
	if rel != 0 {
		b.parent = at(rel - bit)
	}
	for bit /= 2; bit > 0; bit /= 2 {
		if rel+bit < n {
			b.children = append(b.children, at(rel+bit))
		}
	}
	return b
}

// chain is the tree in which every rank but the last has one child, the next one.
func chain(c *Comm, root Rank) branch {
	n := Rank(c.Size())
	b := branch{parent: -1, span: int((root-c.Rank()+n-1)%n) + 1}
	if c.Rank() != root {
		b.parent = (c.Rank() + n - 1) % n
	}
	if next := (c.Rank() + 1) % n; next != root {
		b.children = []Rank{next}
	}
	return b
}
