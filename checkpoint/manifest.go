package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/manifest"
)

// hasSeen reports that no version has a higher number than those that are found or noted.
func (l *looker) hasSeen(n manifest.State) bool {
	return n.Reserved.IsZero() || l.placement.HasWitness(n.Reserved.Attempt)
}

// unseen describes the versions that nodes may have where this run does not look; ""
// if there are none.
func (l *looker) unseen(n manifest.State, entries []storage.Entry) string {
	var newest uint64
	for _, e := range entries {
		if e.Complete() {
			newest = max(newest, e.ID.Version)
		}
	}
	if n.Reserved.Version <= newest {
		return ""
	}
	found := "no version is found"
	if newest > 0 {
		found = fmt.Sprintf("version %d is the newest that is found", newest)
	}
	return fmt.Sprintf("%s; versions up to %d may have been written on %s; %s, before this one has written a version, which then is the newest",
		found, n.Reserved.Version, n.Where, l.placement.Absence().Unseen())
}

// takeOver lets the manifest say that this attempt goes on behind what may have been used.
// That is before anything is brought to the nodes, so that the next job does not take
// it for all that there is.
func (st *starting) takeOver(ctx context.Context, used uint64) {
	if err := st.placement.TakeOver(ctx, storage.ID{Version: used, Attempt: st.line.attempt.id}); err != nil {
		st.up.couldNotReserve(err)
	}
}

// giveBack takes takeOver back, if the attempt could not begin.
func (st *starting) giveBack() {
	if st.placement == nil || st.lock == nil || st.mayWrite() != nil { // others may be at it by now
		return
	}
	if err := st.placement.Manifest().GiveBack(context.Background(), storage.ID{Attempt: st.line.attempt.id}); err != nil {
		st.log.Warn("note about the nodes not written", "error", err)
	}
}

// reserve lets the home know on rank 0 that the number of a version is used. Without
// that the version is as good as others, and only its number may be used again.
func (u *upkeep) reserve(ctx context.Context, id storage.ID) {
	if !u.root() || u.placement.Possible(u.placement.Plan(id.Version)).MemoryAlone() || time.Since(u.notReserved) < manifestEvery {
		return
	}
	if err := u.placement.Manifest().Reserve(ctx, id); err != nil {
		u.couldNotReserve(err)
	}
}

func (u *upkeep) couldNotReserve(err error) {
	u.notReserved = time.Now()
	u.log.Warn("note about the nodes not written: if this job dies, a later one without these nodes may take older versions for newer ones", "error", err)
}

// announceNewest lets the manifest name the newest version, and the highest
// number, before the levels are closed: while the program runs it is written now and
// then only.
func (u *upkeep) announceNewest() {
	if !u.root() || !u.line.attempt.begun {
		return
	}
	state := u.placement.Manifest().State()
	if last := (storage.ID{Version: u.line.attempt.last, Attempt: u.line.attempt.id}); state.Reserved.Attempt == last.Attempt {
		u.maintenance.tell(metadata{nodes: manifest.Announcement{Reserved: last}})
	}
	newest := u.line.stored.NewestInFiles()
	// A newer one that is noted may be out of reach only for now.
	if newest == nil || newest.Reached == 0 || state.Newest != nil && state.Newest.ID.Version >= newest.ID.Version {
		return
	}
	h := newest.Header
	u.maintenance.tell(metadata{nodes: manifest.Announcement{Newest: &h, Levels: newest.Reached.On(storage.TierNode)}})
}

func (u *upkeep) announceNodes(ctx context.Context, a manifest.Announcement) {
	if err := u.placement.Manifest().Announce(ctx, a); err != nil {
		u.log.Warn("note about the nodes not written", "error", err)
	}
}
