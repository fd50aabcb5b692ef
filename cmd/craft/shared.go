package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// sharedKey is a key of which the files of all ranks must fit together.
type sharedKey struct {
	key  string
	dist container.Dist
}

// sharedKeys lists the replicated and partitioned keys of any file.
func sharedKeys(parts []checkedPart) []sharedKey {
	var keys []sharedKey
	seen := make(map[sharedKey]bool)
	for _, p := range parts {
		for _, info := range p.reader.Sections() {
			k := sharedKey{info.Key, info.Desc.Dist}
			if k.dist != container.Local && !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// problem says why the parts of a value are not parts of one; "" if they are.
// The parts are those of ranks 0, 1 and so on.
func (k sharedKey) problem(parts []checkedPart) string {
	sections := make([]*container.SectionReader, len(parts))
	for r, p := range parts {
		s, ok := p.reader.Section(k.key)
		if !ok {
			return fmt.Sprintf("it is %v, but not in the file of rank %d", k.dist, r)
		}
		if have := s.Info().Desc; have.Dist != k.dist {
			return fmt.Sprintf("it is %v in one file, but %v in that of rank %d", k.dist, have.Dist, r)
		}
		sections[r] = s
	}
	if k.dist == container.Replicated {
		return replicaProblem(sections)
	}
	return coverProblem(sections)
}

func replicaProblem(sections []*container.SectionReader) string {
	_, err := container.Join(sections)
	var disagree *container.DisagreeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &disagree):
		return fmt.Sprintf("it is replicated, but ranks %d and %d differ: %s", disagree.Parts[0], disagree.Parts[1], disagree.What)
	}
	return err.Error()
}

func coverProblem(sections []*container.SectionReader) string {
	first := sections[0].Info().Desc
	boxes := make([]container.Box, len(sections))
	for r, s := range sections {
		d := s.Info().Desc
		if d.Elem != first.Elem || !slices.Equal(d.Global, first.Global) {
			return fmt.Sprintf("ranks 0 and %d hold parts of different arrays: %v and %v", r, first, d)
		}
		boxes[r] = d.Box
	}
	if err := cptypes.Cover(first.Global, boxes); err != nil {
		return fmt.Sprintf("the ranks do not hold each element once (box r is that of rank r): %v", err)
	}
	return ""
}
