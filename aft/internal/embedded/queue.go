package embedded

// queue is a list of items in the order they came, from which any can leave.
// The zero value is empty.
type queue[T any] struct {
	head, tail *place[T]
}

// place is an item's place in a queue, and part of the item.
type place[T any] struct {
	item       *T
	in         *queue[T] // nil: in none
	prev, next *place[T]
	order      uint64
}

func (q *queue[T]) push(item *T, p *place[T], order uint64) {
	*p = place[T]{item: item, in: q, prev: q.tail, order: order}
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
}

// leave takes the item out, and reports whether it was in.
func (p *place[T]) leave() bool {
	q := p.in
	if q == nil {
		return false
	}
	if p.prev == nil {
		q.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.in, p.prev, p.next = nil, nil, nil
	return true
}

// sortBack gives the last item of a queue the place that belongs to its number.
func (p *place[T]) sortBack() {
	q, before, order := p.in, p.prev, p.order
	for before != nil && before.order > order {
		before = before.prev
	}
	if before == p.prev {
		return
	}
	item := p.item
	p.leave()
	*p = place[T]{item: item, in: q, prev: before, order: order}
	if before == nil {
		p.next, q.head = q.head, p
	} else {
		p.next, before.next = before.next, p
	}
	p.next.prev = p
}

// first is the oldest item for which ok is true, or nil.
func (q *queue[T]) first(ok func(*T) bool) *T {
	for p := q.head; p != nil; p = p.next {
		if ok(p.item) {
			return p.item
		}
	}
	return nil
}

// all calls f for each item, which may leave meanwhile.
func (q *queue[T]) all(f func(*T)) {
	for p := q.head; p != nil; {
		next := p.next
		f(p.item)
		p = next
	}
}
