// Package domain decides who protects whom, so that what fails together does
// not hold both a part and what the part would be rebuilt from. It is pure: it
// computes from where the ranks are, and all ranks compute the same.
//
// # Terms
//
//   - place: the node that a rank runs on, and the rack (switch, power supply)
//     that the node belongs to. The label of the rack may be empty; all nodes
//     without a label count as one rack.
//   - failure domain: what is lost at once: a node, or a whole rack.
//   - partner of a rank: the rank whose node holds a copy of its part.
//   - set: ranks that protect each other by parity; each member may be rebuilt
//     from the others as long as no more of them are lost than the set has
//     parities.
//
// # How
//
// Ranks are put in one order: rack by rack, in it node by node. Whatever is a
// failure domain is then one run of neighbours.
//
//	rank       0 1 | 2 3 || 4 5 | 6 7       | node, || rack
//	partner    4 5   6 7    0 1   2 3       shift by 4
//	set        a b   a b    a b   a b       dealt in turn to 2 sets
//
// A shift by at least the longest run, and at most all ranks less the longest
// run, moves every rank out of its own run: so partners are a shift. Dealing in
// turn gives no two ranks of a run to one set as long as there are at least as
// many sets as the run is long: so sets are dealt.
//
// # Invariants
//
//   - A rank and its partner are never on one node, and two members of a set
//     are never on one node; where that is impossible there is a typed error.
//   - Each rank holds one copy. If one node has more than half of all ranks,
//     the ranks of the others hold as many copies of it as they must, evenly.
//   - With that, as few copies as possible stay in their own rack, and a set
//     has as few members in one rack as possible.
//   - The sizes of two sets differ by one at most.
//   - Names do not count, only who is together with whom: a node that is
//     replaced by another one in the same rack changes nothing at all.
//
// The partners and sets are those of SCR (Moody et al., SC 2010), which CRAFT
// uses for node-level storage (Shahzad et al., TPDS 30(3), 2019, section 2.4).
package domain
