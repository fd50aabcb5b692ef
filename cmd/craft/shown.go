package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

// shownVersion is the JSON document of craft show.
type shownVersion struct {
	Checkpoint  string                  `json:"checkpoint"`
	Path        osstring.String         `json:"path"`
	Version     uint64                  `json:"version"`
	Attempt     string                  `json:"attempt"`
	Lineage     string                  `json:"lineage"`
	Iteration   *int64                  `json:"iteration"`
	Created     *time.Time              `json:"created"`
	Ranks       int                     `json:"ranks"`
	Parts       int                     `json:"parts"`
	Complete    bool                    `json:"complete"`
	Bytes       int64                   `json:"bytes"` // of the files that are shown
	Fingerprint json.RawMessage         `json:"fingerprint"`
	Ancestors   []storage.NotedAncestor `json:"ancestors"`
	Rank        *int                    `json:"rank"` // null: all together
	Keys        []shownKey              `json:"keys"`
	Level       *storage.Levels         `json:"level"`
	Reached     *storage.Levels         `json:"reached"`
	Durability  *catalog.Durability     `json:"durability"`
	Flush       bool                    `json:"flush"` // to the parallel file system
	// Elsewhere: nodes that cannot be read from here may have more of it.
	Elsewhere bool `json:"elsewhere"`
	// Labels are those of the marks that keep it.
	Labels []string `json:"labels"`
	// Locations are where it is, the parallel file system first.
	Locations []shownLocation `json:"places"`
	// Bases are the versions that hold chunks of this one.
	Bases    []shownBase `json:"bases"`
	Referred int64       `json:"referred_bytes"`

	state         string
	ranks, values bool // are to be printed, too
	onDisk        bool // nothing but the parallel file system has to do with it
}

// shownKey is one key on all ranks that are shown together.
type shownKey struct {
	Key         string   `json:"key"`
	Description string   `json:"description"`
	Elem        string   `json:"elem"`
	Type        string   `json:"type"` // of the program's variable
	Dist        string   `json:"dist"`
	Shape       []int64  `json:"shape"` // of the whole array, if it is partitioned
	RawBytes    int64    `json:"raw_bytes"`
	StoredBytes int64    `json:"stored_bytes"`
	Referred    int64    `json:"referred_bytes"` // that are stored in older versions
	Ratio       *float64 `json:"ratio"`          // raw to stored
	Chunks      int      `json:"chunks"`
	Digest      *string  `json:"digest"` // null where it differs between ranks
	Values      []string `json:"values,omitempty"`
	More        bool     `json:"more_values,omitempty"`
	// ValuesRank is whose elements Values are.
	ValuesRank *int        `json:"values_rank,omitempty"`
	ByRank     []shownPart `json:"by_rank,omitempty"`
}

// shownPart is one key on one rank.
type shownPart struct {
	Rank        int     `json:"rank"`
	Description string  `json:"description"`
	Shape       []int64 `json:"shape"`
	Lo          []int64 `json:"lo,omitempty"` // of the box, which ends before Hi
	Hi          []int64 `json:"hi,omitempty"`
	RawBytes    int64   `json:"raw_bytes"`
	StoredBytes int64   `json:"stored_bytes"`
	Referred    int64   `json:"referred_bytes"`
	Chunks      int     `json:"chunks"`
	Digest      string  `json:"digest"`
}

func describeParts(v *offline.Version, parts []readPart) *shownVersion {
	h := parts[0].reader.Header()
	d := &shownVersion{
		Checkpoint: h.Name, Path: osstring.String(v.Path), Version: h.Version, Attempt: attemptHex(h.Attempt),
		Lineage: lineageHex(h.Lineage), Iteration: iteration(h), Created: documentTime(h.Created), Ranks: h.Size,
		Parts: len(v.Parts), Complete: v.Complete(), Ancestors: storage.NoteAncestors(h.Ancestors), Keys: []shownKey{},
		Locations: []shownLocation{}, Bases: []shownBase{}, state: v.State(), onDisk: true, Labels: append([]string{}, v.Labels...),
	}
	if json.Valid(h.Fingerprint) {
		d.Fingerprint = h.Fingerprint
	}
	for _, part := range parts {
		d.Bytes += part.bytes
	}
	return d
}

// addKeys describes the keys in the order of the first file that has them.
func (d *shownVersion) addKeys(parts []readPart, first firstValues, s showing) {
	on := make(map[string][]rankInfo)
	var keys []string
	for _, part := range parts {
		for _, info := range part.reader.Sections() {
			if on[info.Key] == nil {
				keys = append(keys, info.Key)
			}
			on[info.Key] = append(on[info.Key], rankInfo{info, part.reader})
		}
	}
	for _, key := range keys {
		k := describeKey(on[key], s.rank >= 0)
		if s.ranks {
			for _, o := range on[key] {
				k.ByRank = append(k.ByRank, o.shown())
			}
		}
		if s.values {
			v := first[key]
			k.Values, k.More, k.ValuesRank = v.text, v.more, &v.rank
		}
		d.Keys = append(d.Keys, k)
	}
}

// rankInfo is what one file says of a key.
type rankInfo struct {
	container.Info

	reader *container.Reader
}

func (r rankInfo) shown() shownPart {
	return shownPart{
		Rank: r.reader.Header().Rank, Description: r.Desc.String(), Shape: append([]int64{}, r.Desc.Shape...), // never null
		Lo: r.Desc.Box.Lo, Hi: r.Desc.Box.Hi,
		RawBytes: r.Size, StoredBytes: r.Stored, Referred: r.Refers, Chunks: r.Chunks, Digest: digestHex(r.Digest),
	}
}

// describeKey sums up what the files hold of a key. alone: only one file of the
// version is looked at, whatever its number of ranks.
func describeKey(on []rankInfo, alone bool) shownKey {
	first := on[0]
	k := shownKey{
		Key: first.Key, Description: first.Desc.String(), Elem: first.Desc.Elem.String(), Type: first.Desc.Type,
		Dist: first.Desc.Dist.String(), Shape: append([]int64{}, first.Desc.Shape...),
	}
	digest, same := digestHex(first.Digest), true
	shape := true
	for _, r := range on {
		k.StoredBytes += r.Stored
		k.Referred += r.Refers
		same = same && r.Digest == first.Digest
		shape = shape && slices.Equal(r.Desc.Shape, first.Desc.Shape)
		if r.Split {
			// The files share the chunks of one value.
			k.RawBytes, k.Chunks = r.Size, r.Chunks
			continue
		}
		k.RawBytes += r.Size
		k.Chunks += r.Chunks
	}
	switch {
	case first.Desc.Dist == container.Partitioned && !alone && first.reader.Header().Size > 1:
		whole := container.Desc{Elem: first.Desc.Elem, Shape: first.Desc.Global}
		k.Shape = first.Desc.Global
		k.Description = fmt.Sprintf("%s partitioned over %d ranks", whole, len(on))
	case !shape:
		k.Description += " (others on other ranks)"
	}
	if same && (len(on) == 1 || first.Desc.Dist != container.Partitioned) {
		k.Digest = &digest
	}
	if k.StoredBytes > 0 && k.Referred == 0 && !(alone && first.Split) {
		ratio := float64(k.RawBytes) / float64(k.StoredBytes)
		k.Ratio = &ratio
	}
	return k
}
