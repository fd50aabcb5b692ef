package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
)

// What became of the checkpoint that a place belongs to.
const (
	homeCurrent  = "current"      // it is there: the next job restarts from the place
	homeInUse    = "in use"       // a job has it open
	homeGone     = "gone"         // its directory was deleted
	homeReplaced = "replaced"     // its directory was deleted and made again
	homeUnknown  = "unknown"      // its directory cannot be looked at
	homeUnseen   = "not seen"     // where it should be is nothing at all: perhaps not mounted
	homeRemoved  = "half removed" // somebody began to delete the place
	homeUnusable = "not a place"  // the place itself cannot be used
)

// homeState says what became of the checkpoint of a place, and why that is
// believed.
func (p *program) homeState(place nodelocal.Place) (state, reason string) {
	if place.Removed() && errors.Is(place.Err, nodelocal.ErrForeign) {
		return homeRemoved, "its removal was interrupted"
	}
	if place.Err != nil {
		return homeUnusable, place.Err.Error()
	}
	home := place.Owner.Home
	info, err := p.fs.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.missingHome(home)
	case err != nil:
		return homeUnknown, err.Error()
	case !info.IsDir():
		return homeUnknown, home + " is not a directory"
	}
	if state, reason = p.lockState(home); state != "" {
		return state, reason
	}
	return p.identityState(place.Owner)
}

// missingHome tells a deleted checkpoint from a file system that is not mounted:
// then the directory above is missing too, or has nothing in it.
func (p *program) missingHome(home string) (state, reason string) {
	base := filepath.Dir(home)
	entries, err := p.fs.ReadDir(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return homeUnseen, fmt.Sprintf("%s does not exist either: perhaps its file system is not mounted here", base)
	case err != nil:
		return homeUnknown, err.Error()
	case len(entries) == 0:
		return homeUnseen, fmt.Sprintf("%s is empty: perhaps its file system is not mounted here", base)
	}
	return homeGone, home + " does not exist any more"
}

// lockState is "" if no job has the home open. A lock whose process may live is
// believed.
func (p *program) lockState(home string) (state, reason string) {
	l, err := p.readLock(home)
	switch {
	case err != nil:
		return homeUnknown, err.Error()
	case l == nil || l.State == "dead":
		return "", ""
	case l.inUse(p.now()) == "":
		return homeInUse, fmt.Sprintf("%s is locked by %s; if that job is dead, run: craft unlock %s", home, ownerText(l.owner), home)
	}
	return homeInUse, fmt.Sprintf("%s is locked by %s", home, ownerText(l.owner))
}

func (p *program) identityState(o nodelocal.Owner) (state, reason string) {
	note, err := readNodesNote(p.fs, o.Home)
	switch {
	case err != nil:
		return homeUnknown, err.Error()
	case o.ID == "":
		return homeCurrent, ""
	case note == nil:
		return homeReplaced, fmt.Sprintf("there is no %s in %s: that is another checkpoint, which has nothing on nodes", filestore.NodesName, o.Home)
	case note.ID != o.ID:
		return homeReplaced, fmt.Sprintf("the checkpoint in %s is a newer one (identity %s, not %s)", o.Home, note.ID, o.ID)
	}
	return homeCurrent, ""
}
