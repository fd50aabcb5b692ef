package domain

import (
	"fmt"
	"math/rand/v2"
)

// randomPlaces puts up to 40 ranks on up to 10 nodes in up to 4 racks.
func randomPlaces(rng *rand.Rand) []Place {
	nodes, racks := 1+rng.IntN(10), 1+rng.IntN(4)
	rackOf := make([]string, nodes)
	for i := range rackOf {
		rackOf[i] = fmt.Sprint("r", rng.IntN(racks))
	}
	var places []Place
	even := rng.IntN(2) == 0
	for node := range nodes {
		count := 4
		if !even {
			count = 1 + rng.IntN(1+rng.IntN(8))
		}
		for range count {
			places = append(places, Place{Node: 100 - 7*node, Rack: rackOf[node]})
		}
	}
	rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	return places
}

func count[K comparable](places []Place, key func(Place) K) map[K]int {
	n := make(map[K]int)
	for _, p := range places {
		n[key(p)]++
	}
	return n
}

func nodeOf(p Place) int    { return p.Node }
func rackOf(p Place) string { return p.Rack }

func most[K comparable](counts map[K]int) (n int) {
	for _, c := range counts {
		n = max(n, c)
	}
	return n
}

// evenPlaces is the usual job: ranks node by node, nodes rack by rack.
func evenPlaces(nodes, perNode, nodesPerRack int) []Place {
	var places []Place
	for i := range nodes * perNode {
		node := i / perNode
		places = append(places, Place{Node: node, Rack: fmt.Sprint("rack ", node/nodesPerRack)})
	}
	return places
}
