package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// naive is the rule that matcher implements: two lists in the order of arrival.
type naive struct {
	messages []*message
	receives []*receive
}

func (x *naive) arrive(m *message) *receive {
	i := slices.IndexFunc(x.receives, m.matches)
	if i < 0 {
		x.messages = append(x.messages, m)
		return nil
	}
	r := x.receives[i]
	x.receives = slices.Delete(x.receives, i, i+1)
	return r
}

func (x *naive) post(r *receive) *message {
	i := slices.IndexFunc(x.messages, func(m *message) bool { return m.matches(r) })
	if i < 0 {
		x.receives = append(x.receives, r)
		return nil
	}
	m := x.messages[i]
	x.messages = slices.Delete(x.messages, i, i+1)
	return m
}

func without[T comparable](list []T, item T) ([]T, bool) {
	i := slices.Index(list, item)
	if i < 0 {
		return list, false
	}
	return slices.Delete(list, i, i+1), true
}

func TestMatcherAgainstLists(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const ranks = 3
	for range 50 {
		x, want := newMatcher(ranks), &naive{}
		var messages []*message
		var receives []*receive
		for range 300 {
			tag := int(random.IntN(5) - 2) // -2: reserved, -1: any
			switch random.IntN(6) {
			case 0, 1:
				if tag == driver.AnyTag {
					tag = 0
				}
				m := &message{source: int(random.IntN(ranks)), tag: tag}
				messages = append(messages, m)
				got := x.take(m)
				if got == nil {
					x.queueMessage(m)
				}
				require.Same(t, want.arrive(m), got)
			case 2, 3:
				r := &receive{source: int(random.IntN(ranks+1) - 1), tag: tag}
				receives = append(receives, r)
				require.Same(t, want.post(r), x.post(r))
			case 4:
				if len(messages) > 0 {
					m := messages[random.IntN(len(messages))]
					var in bool
					want.messages, in = without(want.messages, m)
					require.Equal(t, in, m.place.leave())
				}
			case 5:
				if len(receives) > 0 {
					r := receives[random.IntN(len(receives))]
					var in bool
					want.receives, in = without(want.receives, r)
					require.Equal(t, in, r.place.leave())
				}
			}
		}
	}
}
