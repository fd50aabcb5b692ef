package main

import (
	"hash/fnv"
	"math/rand/v2"
)

// victim is who fails after which iteration.
type victim struct {
	Rank      int `json:"rank"`
	Node      int `json:"node"` // on which the rank begins
	Iteration int `json:"iteration"`
}

// shape is that of all jobs.
type shape struct{ ranks, nodes int }

// victim draws one of a run: the same for all approaches and storages, which do not come into it. There is a
// version to go back to, and an iteration behind the one that is lost.
func (s shape) victim(seed uint64, program string, f failure, run, iterations int) victim {
	name := fnv.New64a()
	name.Write([]byte(program + "/" + string(f))) // never an error
	rng := rand.New(rand.NewPCG(seed, name.Sum64()+uint64(run)))
	rank := rng.IntN(s.ranks)
	return victim{Rank: rank, Node: s.node(rank), Iteration: 1 + rng.IntN(iterations-2)}
}

// node is where craft run starts a rank: neighbours together, and on the first nodes one more if they
// cannot have the same number.
func (s shape) node(rank int) int {
	each, more := s.ranks/s.nodes, s.ranks%s.nodes
	if first := more * (each + 1); rank >= first {
		return more + (rank-first)/each
	}
	return rank / (each + 1)
}

// variant is how a job survives.
type variant struct {
	approach
	storage
}

// variants are those of a failure in all pairings, each once.
func variants(as []approach, ps []pairing, f failure) (all []variant) {
	known := make(map[[2]string]bool)
	for _, p := range ps {
		for _, a := range as {
			v := variant{a, p.storage(a, f)}
			id := [2]string{a.name, string(v.storage)}
			if !known[id] {
				all = append(all, v)
			}
			known[id] = true
		}
	}
	return all
}

// inTurn is the order of things in a run: another one is first each time, so that what all do to the
// machine, and what the machine does to them, hits each alike.
func inTurn[T any](all []T, run int) []T {
	k := run % len(all)
	return append(append([]T(nil), all[k:]...), all[:k]...)
}
