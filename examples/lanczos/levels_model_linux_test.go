package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
)

// shelf is what files say about the versions of a checkpoint: an independent
// judgement of what a restart must be able to find. It looks at names, headers and
// the members of sets alone, and rather sees too little than too much.
type shelf struct {
	objects map[storage.ObjectKey]bool
	headers map[storage.ID]container.Header
	sets    map[storage.ID][]shelfSet
}

// shelfSet is a group of ranks with parity over their parts. After a loss there are
// other sets than before.
type shelfSet struct {
	ranks   []int
	parity  int
	holders []int // ranks whose parity file is of this set
}

// lookAt reads the directories of nodes and the checkpoint's own one. Files may
// come and go meanwhile: those that are gone when they are opened do not count.
func lookAt(home string, nodes []string) *shelf {
	s := &shelf{
		objects: make(map[storage.ObjectKey]bool), headers: make(map[storage.ID]container.Header), sets: make(map[storage.ID][]shelfSet),
	}
	s.read(filepath.Join(home, "lanczos", "v-*", "*.craft"))
	for _, dir := range nodes {
		s.read(filepath.Join(dir, "lanczos-*", "v-*", "*.craft"))
	}
	return s
}

func (s *shelf) read(pattern string) {
	names, _ := filepath.Glob(pattern)
	for _, name := range names {
		key, err := storage.ParseObjectKey(filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name))
		if err != nil || s.open(name, key) != nil {
			continue
		}
		s.objects[key] = true
	}
}

func (s *shelf) open(name string, key storage.ObjectKey) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if key.Kind != storage.KindParity {
		h, err := container.ReadHeader(f, info.Size())
		if err == nil {
			s.headers[key.ID] = h
		}
		return err
	}
	p, err := erasure.OpenParity(f, info.Size())
	if err != nil {
		return err
	}
	_, ranks, _, err := erasure.SetOf(p.Header())
	if err == nil {
		s.addSet(key.ID, shelfSet{ranks, p.Header().Layout.Parity, []int{key.Part.Rank}})
	}
	return err
}

func (s *shelf) addSet(id storage.ID, one shelfSet) {
	for i, other := range s.sets[id] {
		if slices.Equal(other.ranks, one.ranks) && other.parity == one.parity {
			s.sets[id][i].holders = append(other.holders, one.holders...)
			return
		}
	}
	s.sets[id] = append(s.sets[id], one)
}

func (s *shelf) has(id storage.ID, kind storage.Kind, rank int) bool {
	return s.objects[storage.ObjectKey{ID: id, Kind: kind, Part: storage.Part{Rank: rank, Size: chaosRanks}}]
}

func (s *shelf) stored(id storage.ID, rank int) bool {
	return s.has(id, storage.KindPart, rank) || s.has(id, storage.KindCopy, rank)
}

// rebuildable counts a member of a set that lacks anything as one that lacks all.
// While healing goes on, one set may be taken for the other: both must suffice.
func (s *shelf) rebuildable(id storage.ID, rank int) bool {
	any := false
	for _, set := range s.sets[id] {
		if !slices.Contains(set.ranks, rank) {
			continue
		}
		lost := 0
		for _, r := range set.ranks {
			if !s.stored(id, r) || !slices.Contains(set.holders, r) {
				lost++
			}
		}
		if lost > set.parity {
			return false
		}
		any = true
	}
	return any
}

func (s *shelf) complete(id storage.ID) bool {
	for rank := range chaosRanks {
		if !s.stored(id, rank) && !s.rebuildable(id, rank) {
			return false
		}
	}
	return true
}

// newest is the iteration of the newest version that can be had, with all that it
// refers to, of certain attempts (nil: of all); -1: there is none.
func (s *shelf) newest(of map[container.AttemptID]bool) (iteration int) {
	var newest storage.ID
	iteration = -1
	for id, h := range s.headers {
		if (of == nil || of[id.Attempt]) && id.Compare(newest) > 0 && s.complete(id) && s.hasBases(id, h) {
			newest, iteration = id, int(h.Iteration)
		}
	}
	return iteration
}

// attempts are those that have written anything.
func (s *shelf) attempts() map[container.AttemptID]bool {
	all := make(map[container.AttemptID]bool)
	for id := range s.headers {
		all[id.Attempt] = true
	}
	return all
}

func (s *shelf) hasBases(id storage.ID, h container.Header) bool {
	for other := range s.headers {
		between := other.Attempt == id.Attempt && h.Oldest > 0 && other.Version >= h.Oldest && other.Version < id.Version
		if between && !s.complete(other) {
			return false
		}
	}
	return true
}
