package control

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// communicatorOf is one for tests.
func communicatorOf(id CommID, members ...*process) *group { return &group{id: id, members: members} }

func TestDifferences(t *testing.T) {
	p := func(id Proc, o Original) *process { return &process{id: id, original: o} }
	a, b, c, d := p(0, 0), p(1, 1), p(2, 2), p(3, 3)
	e, f, g, h := p(4, 4), p(5, 5), p(6, 6), p(7, 7)
	all := communicatorOf(1, a, b, c, d, e, f, g, h)
	for name, k := range map[string]struct {
		after []*process
		want  *Difference // nil: all members are named
	}{
		"the same":               {[]*process{a, b, c, d, e, f, g, h}, &Difference{}},
		"shrunk":                 {[]*process{a, b, d, e, f, g, h}, &Difference{Without: []Proc{2}}},
		"the ends taken out":     {[]*process{b, c, d, e, f, g}, &Difference{Without: []Proc{0, 7}}},
		"replaced":               {[]*process{p(8, 0), b, c, d, e, p(9, 5), g, h}, &Difference{Replaced: []Replaced{{0, 8}, {5, 9}}}},
		"replaced as far as can": {[]*process{a, p(8, 2), d, e, f, g, h}, &Difference{Replaced: []Replaced{{2, 8}}, Without: []Proc{1}}},
		"put in":                 {[]*process{p(8, -3), a, b, c, d, e, f, g, p(9, 9), h}, &Difference{Added: []Added{{0, 8}, {8, 9}}}},
		"put in behind":          {[]*process{a, b, c, d, e, f, g, h, p(8, 8)}, &Difference{Added: []Added{{8, 8}}}},
		"all kinds":              {[]*process{p(8, 0), b, p(9, 9), c, d, e, f, h}, &Difference{Replaced: []Replaced{{0, 8}}, Without: []Proc{6}, Added: []Added{{2, 9}}}},
		"another order":          {[]*process{b, a, c, d, e, f, g, h}, nil},
		"few are left":           {[]*process{a, h}, nil},
		"half are left":          {[]*process{a, c, e, g}, nil},
		"most are new":           {[]*process{p(8, 0), p(9, 1), p(10, 2), p(11, 3), e, f, g, h}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			after := communicatorOf(2, k.after...)
			after.lasting = true
			told := after.since(all)
			if k.want == nil {
				require.Equal(t, after.record(), told)
				return
			}
			k.want.Of = 1
			require.Equal(t, &Group{ID: 2, Since: k.want, Lasting: true}, told)
			whole, err := Made{Op: OpShrink, Comm: 1, New: told}.Whole(ids(all.members))
			require.NoError(t, err)
			require.Equal(t, after.record(), whole.New)
		})
	}
}

// TestRandomDifferences: from one communicator to the next by whatever is done to members, each receiver gets the
// members that the root has, and the ranks of those before.
func TestRandomDifferences(t *testing.T) {
	seed, given := testseed.Given(t)
	if !given {
		seed = rand.Uint64()
	}
	defer func() {
		if t.Failed() {
			testseed.Print(t, seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	short, long, repairs := 0, 0, 0
	for range 3000 {
		next := Proc(0)
		start := func(o Original) *process { next++; return &process{id: next, original: o} }
		var before []*process
		for o := range Original(1 + random.IntN(30)) {
			before = append(before, start(o))
		}
		if random.IntN(3) == 0 { // numbers are in no order either
			random.Shuffle(len(before), func(i, j int) { before[i], before[j] = before[j], before[i] })
		}
		after, ordered := changed(random, before, start)
		old, made := communicatorOf(1, before...), communicatorOf(2, after...)
		told := made.since(old)
		if told.Since == nil {
			long++
			require.Equal(t, ids(after), told.Procs)
			continue
		}
		short++
		m := Message{Kind: KindMade, Made: &Made{Op: OpRepair, Comm: 1, New: told}}
		require.NoError(t, m.Validate())
		require.Less(t, told.Since.length(), len(after))
		members, ranks, err := told.Since.apply(ids(before))
		require.NoError(t, err)
		require.Equal(t, ids(after), members, "of %v by %+v", ids(before), told.Since)
		if !ordered || len(told.Since.Added) > 0 { // no repair does that, which has ranks told
			continue
		}
		repairs++
		rank := made.standIns()
		for i, p := range before {
			require.Equal(t, rank(p.original), ranks[i], "rank of %d: %v, by %+v %v", p.id, ids(before), told.Since, members)
		}
	}
	require.Greater(t, short, 1000)
	require.Greater(t, long, 300)
	require.Greater(t, repairs, 300)
}

// changed are other members: some taken out, replaced or put in, mostly ordered as before.
func changed(random *rand.Rand, before []*process, start func(Original) *process) (after []*process, ordered bool) {
	rarely := 2 + random.IntN(20)
	for _, p := range before {
		if random.IntN(3*rarely) == 0 {
			after = append(after, start(1000+Original(random.IntN(1_000_000))))
		}
		switch random.IntN(rarely) {
		case 0:
		case 1:
			after = append(after, start(p.original))
		default:
			after = append(after, p)
		}
	}
	if len(after) == 0 {
		after = before[:1]
	}
	if ordered = random.IntN(6) > 0; !ordered {
		after = slices.Clone(after)
		i, j := random.IntN(len(after)), random.IntN(len(after))
		after[i], after[j] = after[j], after[i]
	}
	return after, ordered
}

// TestImpossibleDifferences: nobody gets other members than the root has.
func TestImpossibleDifferences(t *testing.T) {
	for name, k := range map[string]struct {
		since  Difference
		before []Proc
		want   string
	}{
		"unknown":           {Difference{Without: []Proc{1}}, nil, `communicator 7 is told as a difference from 3, of whose operation "repair" nothing is known here`},
		"no member":         {Difference{Without: []Proc{9}}, []Proc{1, 2}, "taken out that are not in communicator 3"},
		"no member to give": {Difference{Replaced: []Replaced{{9, 10}}}, []Proc{1, 2}, "taken out that are not in communicator 3"},
		"there already":     {Difference{Replaced: []Replaced{{1, 2}}}, []Proc{1, 2}, "process 2 is new, and is one of communicator 3"},
		"put in twice":      {Difference{Added: []Added{{0, 1}}}, []Proc{1, 2}, "process 1 is new, and is one of communicator 3"},
		"too far behind":    {Difference{Added: []Added{{3, 9}}}, []Proc{1, 2}, "process 9 is to have rank 3 behind 2 others"},
		"nobody":            {Difference{Without: []Proc{1, 2}}, []Proc{1, 2}, "nobody is left of communicator 3"},
	} {
		t.Run(name, func(t *testing.T) {
			k.since.Of = 3
			m := Made{Op: OpRepair, Comm: 3, New: &Group{ID: 7, Since: &k.since}}
			require.NoError(t, Message{Kind: KindMade, Made: &m}.Validate(), "only its receiver can know")
			_, err := m.Whole(k.before)
			require.ErrorIs(t, err, ErrMessage)
			require.ErrorContains(t, err, k.want)
		})
	}
}

// TestWhoIsToldDifferences: those who have joined; a newcomer, and whoever is in another order, is told of all.
func TestWhoIsToldDifferences(t *testing.T) {
	s := running(t, RootConfig{Size: 6, Nodes: nodesOf(3, 0)})
	told := func(p Proc) (out []Made) {
		for _, a := range s.raw {
			if m := a.Message.Made; m != nil && a.Node == s.where[p] && (len(a.Message.To) == 0 || slices.Contains(a.Message.To, p)) {
				out = append(out, *m)
			}
		}
		s.raw = []Send{}
		return out
	}
	told(0)
	s.kill(1)
	for _, p := range []Proc{0, 2, 3, 4, 5} {
		s.join(p, Join{Op: OpRepair})
	}
	s.hello(6)
	raw := slices.Clone(s.raw)
	survivor := told(5)[0]
	require.Equal(t, &Group{ID: 2, Since: &Difference{Of: 1, Replaced: []Replaced{{1, 6}}}}, survivor.New)
	require.Nil(t, survivor.Change.Ranks)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, s.made(5).Change.Ranks)
	s.raw = raw
	newcomer := told(6)
	require.Equal(t, &Group{ID: 2, Procs: []Proc{0, 6, 2, 3, 4, 5}}, newcomer[len(newcomer)-1].New)
	require.Equal(t, s.made(5).Change, newcomer[len(newcomer)-1].Change)
	s.raw = []Send{}
	for _, p := range []Proc{0, 6, 2, 3, 4, 5} {
		s.join(p, Join{Op: OpSplit, Comm: 2, Lasting: true})
	}
	require.Equal(t, &Group{ID: 3, Since: &Difference{Of: 2}, Lasting: true}, told(0)[0].New)
	for _, p := range []Proc{0, 6, 2, 3, 4, 5} {
		s.join(p, Join{Op: OpSplit, Comm: 2, Seq: 1, Key: -int(p)})
	}
	require.Equal(t, &Group{ID: 4, Procs: []Proc{6, 5, 4, 3, 2, 0}}, told(0)[0].New)
}
