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

// push puts an item behind those with lower numbers: at the end, unless it has been in before.
func (q *queue[T]) push(item *T, p *place[T], order uint64) {
	before := q.tail
	for before != nil && before.order > order {
		before = before.prev
	}
	*p = place[T]{item: item, in: q, prev: before, order: order}
	if before == nil {
		p.next, q.head = q.head, p
	} else {
		p.next, before.next = before.next, p
	}
	if p.next == nil {
		q.tail = p
	} else {
		p.next.prev = p
	}
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
