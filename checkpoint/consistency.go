package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
)

// checkConsistency finds ranks that have written different things under one
// version: out of step, unequal replicated values, boxes that do not fit.
func (wr *writing) checkConsistency(ctx context.Context, h container.Header, p part, mine placement.Outcome) (placement.Outcome, error) {
	boxes, text := boxesOf(p.sections)
	if wr.comm.Size() == 1 && wr.line.attempt.boxes == "" && text == "" {
		return mine, nil
	}
	_, recovery := wr.comm.Session().Recovered()
	st := &wr.acc.stats
	own := maxima{text != wr.line.attempt.boxes, mine, slowest{st.CheckpointTime, st.RestartTime, recovery, st.RedoTime}}
	keys, digests := replicas(p)
	differ, most, err := wr.compare(ctx, []int64{int64(h.Version), h.Iteration, condensed(digests), versionDigest(h), condensed(fmt.Append(nil, p.labels))}, own.encode()...)
	if err != nil {
		return mine, err
	}
	all := decodeMaxima(most)
	wr.acc.slowest = all.slowest
	version, iteration, values, header := differ[0], differ[1], differ[2], differ[3]
	switch {
	case differ[4]:
		return mine, fmt.Errorf("%w: they make different milestones, this rank %q: all ranks call Milestone with the same label", ErrDisagree, p.labels)
	case version || iteration:
		return mine, fmt.Errorf("%w: they are out of step: this rank writes version %d of iteration %v, others do not",
			ErrDisagree, h.Version, iterationAttr(h.Iteration))
	case header:
		return mine, fmt.Errorf("%w: they have different fingerprints, that of this rank is %s, or are nested differently, on this rank in %v", ErrDisagree, orNone(wr.fingerprint), h.Ancestors)
	case values:
		return mine, findUnequal(wr, ctx, keys, digests)
	case all.boxes:
		err := checkCover(wr, ctx, boxes)
		if err == nil {
			wr.line.attempt.boxes = text
		}
		_, err = wr.agree(ctx, err)
		return all.outcome, err
	}
	return all.outcome, nil
}

type maxima struct {
	boxes   bool // they are not those that were checked
	outcome placement.Outcome
	slowest slowest
}

func (m maxima) encode() []int64 {
	s := m.slowest
	return append([]int64{bit(m.boxes), bit(m.outcome.Spilled), int64(s.checkpoint), int64(s.restart), int64(s.recovery), int64(s.redo)},
		m.outcome.Levels.Missing()...)
}

func decodeMaxima(m []int64) maxima {
	return maxima{
		boxes:   m[0] != 0,
		outcome: placement.Outcome{Spilled: m[1] != 0, Levels: storage.FromMissing(m[6:])},
		slowest: slowest{time.Duration(m[2]), time.Duration(m[3]), time.Duration(m[4]), time.Duration(m[5])},
	}
}

// checkDirectory makes sure, once, that rank 0 finds the parts of all ranks where it
// writes its own: that no rank has another directory, or a disk of its own under
// the same path. What rank 0 finds is an error of its part.
func checkDirectory(wr *writing, ctx context.Context, f *flight) error {
	if wr.root() {
		f.err = allParts(wr, ctx, f.header)
	}
	_, err := wr.agree(ctx, f.err)
	wr.line.attempt.sameDirectory = err == nil
	return err
}

// allParts returns an error unless the parts of all ranks are there.
func allParts(wr *writing, ctx context.Context, h container.Header) error {
	id, _ := storage.Identity(h)
	for r := range h.Size {
		blob, err := wr.store.Driver.Open(ctx, id, storage.Part{Rank: r, Size: h.Size})
		if errors.Is(err, storage.ErrNotFound) {
			return disagreed(&placement.PlaceError{Rank: r, Dir: wr.dir()})
		}
		if err == nil {
			err = blob.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func replicas(p part) (keys []string, digests []byte) {
	for i, s := range p.sections {
		if s.Desc.Dist == container.Replicated {
			digests = binary.LittleEndian.AppendUint64(digests, p.Digests[i])
			keys = append(keys, s.Key)
		}
	}
	return keys, digests
}

func condensed(b []byte) int64 {
	hash := fnv.New64a()
	hash.Write(b)
	return int64(hash.Sum64())
}

// findUnequal names the keys whose replicas differ.
func findUnequal(wr *writing, ctx context.Context, keys []string, mine []byte) error {
	byRank, err := fromAll(ctx, wr.core, keys)
	if err != nil {
		return err
	}
	all, err := comm.AllgatherBytes(ctx, wr.comm, mine)
	if err != nil {
		return err
	}
	if err := sameOrder("replicated", byRank); err != nil {
		return err
	}
	for r, other := range all {
		if len(other) != len(all[0]) {
			return fmt.Errorf("%w: rank 0 has %d replicated values, rank %d has %d", ErrDisagree, len(all[0])/8, r, len(other)/8)
		}
	}
	for k, key := range keys {
		for r, other := range all {
			if string(other[8*k:8*k+8]) != string(all[0][8*k:8*k+8]) {
				return &KeyError{Key: key, Err: fmt.Errorf("%w: it is declared replicated, but ranks 0 and %d hold different values, or their WriteTo gives different bytes for the same value", ErrDisagree, r)}
			}
		}
	}
	return fmt.Errorf("%w about their replicated values", ErrDisagree)
}

// sameOrder returns an error if ranks have added the same keys in different orders: values are compared in that of Add.
func sameOrder(spread string, byRank [][]string) error {
	first := byRank[0]
	for r, keys := range byRank {
		if slices.Equal(keys, first) || !slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(first))) {
			continue
		}
		from, to := 0, len(keys)
		for keys[from] == first[from] {
			from++
		}
		for keys[to-1] == first[to-1] {
			to--
		}
		return fmt.Errorf("%w: all ranks must add their %s values in one order, but rank 0 has added %s, and rank %d %s", ErrDisagree, spread,
			join(first[from:to], ", ", strconv.Quote), r, join(keys[from:to], ", ", strconv.Quote))
	}
	return nil
}

// boxesOf are this rank's parts of the partitioned values, and a text that tells when they change.
func boxesOf(sections []container.Section) (boxes []keyDesc, text string) {
	for _, s := range sections {
		if s.Desc.Dist == container.Partitioned {
			boxes = append(boxes, keyDesc{Key: s.Key, Desc: s.Desc})
		}
	}
	if len(boxes) == 0 {
		return nil, ""
	}
	data, _ := json.Marshal(boxes)
	return boxes, string(data)
}

// checkCover lets every rank check that the boxes of all cover each array once.
func checkCover(wr *writing, ctx context.Context, boxes []keyDesc) error {
	byRank, err := fromAll(ctx, wr.core, boxes)
	if err != nil {
		return err
	}
	keys := make([][]string, len(byRank))
	for r, theirs := range byRank {
		for _, d := range theirs {
			keys[r] = append(keys[r], d.Key)
		}
	}
	if err := sameOrder("partitioned", keys); err != nil {
		return err
	}
	for k, mine := range boxes {
		if err := coverKey(mine, byRank, k); err != nil {
			return &KeyError{Key: mine.Key, Err: err}
		}
	}
	return nil
}

func coverKey(mine keyDesc, byRank [][]keyDesc, k int) error {
	var boxes []container.Box
	for r, theirs := range byRank {
		if k >= len(theirs) || theirs[k].Key != mine.Key {
			return fmt.Errorf("%w: rank %d does not hold a part of it", ErrDisagree, r)
		}
		if !slices.Equal(theirs[k].Desc.Global, mine.Desc.Global) {
			return fmt.Errorf("%w: its global shape is %v here and %v on rank %d", ErrDisagree, mine.Desc.Global, theirs[k].Desc.Global, r)
		}
		boxes = append(boxes, theirs[k].Desc.Box)
	}
	if err := cptypes.Cover(mine.Desc.Global, boxes); err != nil {
		return fmt.Errorf("%w: the parts of the ranks do not cover it once: %w", ErrDisagree, err)
	}
	return nil
}
