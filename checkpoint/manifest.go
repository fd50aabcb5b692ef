package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
)

// hasSeen reports that no version has a higher number than those that are found or noted.
func (cp *Checkpoint) hasSeen(n manifest.State) bool {
	return n.Reserved.IsZero() || cp.place.HasWitness(n.Reserved.Attempt)
}

// unseen describes the versions that nodes may have where this run does not look; ""
// if there are none.
func (cp *Checkpoint) unseen(n manifest.State, entries []storage.Entry) string {
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
		found, n.Reserved.Version, n.Where, cp.place.Absence().Unseen())
}

// takeOver lets the note say that this attempt goes on behind what may have been used.
// That is before anything is brought to the nodes, so that the next job does not take
// it for all that there is.
func (cp *Checkpoint) takeOver(ctx context.Context, used uint64) {
	if err := cp.place.TakeOver(ctx, storage.ID{Version: used, Attempt: cp.attempt.id}); err != nil {
		cp.couldNotReserve(err)
	}
}

// giveBack takes takeOver back, if the attempt could not begin.
func (cp *Checkpoint) giveBack() {
	if cp.place == nil || cp.lock == nil || cp.mayWrite() != nil { // others may be at it by now
		return
	}
	if err := cp.place.Manifest().GiveBack(context.Background(), storage.ID{Attempt: cp.attempt.id}); err != nil {
		cp.log.Warn("note about the nodes not written", "error", err)
	}
}

// reserve lets the home know on rank 0 that the number of a version is used. Without
// that the version is as good as others, and only its number may be used again.
func (cp *Checkpoint) reserve(ctx context.Context, id storage.ID) {
	if !cp.root() || time.Since(cp.notReserved) < noteEvery {
		return
	}
	if err := cp.place.Manifest().Reserve(ctx, id); err != nil {
		cp.couldNotReserve(err)
	}
}

func (cp *Checkpoint) couldNotReserve(err error) {
	cp.notReserved = time.Now()
	cp.log.Warn("note about the nodes not written: if this job dies, a later one without these nodes may take older versions for newer ones", "error", err)
}

// noteNewest lets the note about the nodes name the newest version, and the highest
// number, before the levels are closed: while the program runs it is written now and
// then only.
func (cp *Checkpoint) noteNewest() {
	if !cp.root() || !cp.attempt.begun {
		return
	}
	noted := cp.place.Manifest().State()
	if last := (storage.ID{Version: cp.attempt.last, Attempt: cp.attempt.id}); noted.Reserved.Attempt == last.Attempt {
		cp.maintenance.tell(notes{reserved: last})
	}
	newest := cp.stored.Newest()
	// A newer one that is noted may be out of reach only for now.
	if newest == nil || newest.Reached == 0 || noted.Newest != nil && noted.Newest.ID.Version >= newest.ID.Version {
		return
	}
	h := newest.Header
	cp.maintenance.tell(notes{note: &h, levels: newest.Reached})
}

// noteNodes writes the note about the nodes.
func (cp *Checkpoint) noteNodes(ctx context.Context, newest *container.Header, levels storage.Levels, reserved storage.ID) {
	if err := cp.place.Manifest().Announce(ctx, manifest.Announcement{Newest: newest, Levels: levels, Reserved: reserved}); err != nil {
		cp.log.Warn("note about the nodes not written", "error", err)
	}
}
