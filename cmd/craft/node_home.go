package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/offline"
)

// What became of the checkpoint that a place belongs to.
const (
	homeCurrent  = "current"      // it is there: the next job restarts from the place
	homeInUse    = "in use"       // a job has it open
	homeGone     = "gone"         // its directory was deleted
	homeReplaced = "replaced"     // there is another one in its directory: this one was deleted, or is not mounted
	homeUnknown  = "unknown"      // its directory cannot be looked at
	homeUnseen   = "not seen"     // nothing there tells: perhaps its file system is not mounted
	homeRemoved  = "half removed" // somebody began to delete the place
	homeUnusable = "not a place"  // the place itself cannot be used
)

// homeState says what became of the checkpoint of a place, and why that is
// believed.
func homeState(fsys vfs.FS, place nodelocal.Place) (state, reason string) {
	if place.Removed() && errors.Is(place.Err, nodelocal.ErrForeign) {
		return homeRemoved, "its removal was interrupted"
	}
	if place.Err != nil {
		return homeUnusable, place.Err.Error()
	}
	if state, reason = stateAtHome(fsys, place.Owner); state != homeInUse && place.Job != nil {
		return homeInUse, fmt.Sprintf("%v has it open", place.Job)
	}
	return state, reason
}

func stateAtHome(fsys vfs.FS, o nodelocal.Owner) (state, reason string) {
	home := string(o.Home)
	info, err := fsys.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingHome(fsys, home)
	case err != nil:
		return homeUnknown, err.Error()
	case !info.IsDir():
		return homeUnknown, home + " is not a directory"
	}
	if state, reason = lockState(fsys, home); state != "" {
		return state, reason
	}
	return identityState(fsys, o)
}

// missingHome tells a deleted checkpoint from a file system that is not mounted:
// then the directory above is missing too, or has nothing in it, or the home is a link
// into it.
func missingHome(fsys vfs.FS, home string) (state, reason string) {
	if err := vfs.Dangling(fsys, home); err != nil {
		return homeUnseen, err.Error()
	}
	base := filepath.Dir(home)
	if _, err := fsys.Stat(base); errors.Is(err, fs.ErrNotExist) {
		return homeUnseen, fmt.Sprintf("%s does not exist either: perhaps its file system is not mounted here", base)
	}
	if state, reason = emptyState(fsys, base); state != "" {
		return state, reason
	}
	return homeGone, home + " does not exist any more"
}

// emptyState is "" of a directory that has something in it. One that has nothing may be the
// place where a file system is not mounted.
func emptyState(fsys vfs.FS, dir string) (state, reason string) {
	switch entries, err := fsys.ReadDir(dir); {
	case err != nil:
		return homeUnknown, err.Error()
	case len(entries) == 0:
		return homeUnseen, fmt.Sprintf("%s is empty: perhaps its file system is not mounted here", dir)
	}
	return "", ""
}

// lockState is "" if no job has the home open. A lock whose process may live is
// believed.
func lockState(fsys vfs.FS, home string) (state, reason string) {
	l, err := readLock(fsys, home)
	switch {
	case err != nil:
		return homeUnknown, err.Error()
	case l == nil || l.State == "dead":
		return "", ""
	case l.State == "unknown":
		return homeInUse, fmt.Sprintf("%s is locked by %s; if that job is dead, run: craft unlock %s", home, l.owner, home)
	}
	return homeInUse, fmt.Sprintf("%s is locked by %s", home, l.owner)
}

func identityState(fsys vfs.FS, o nodelocal.Owner) (state, reason string) {
	m, err := offline.ReadManifest(fsys, string(o.Home))
	switch {
	case err != nil:
		return homeUnknown, err.Error()
	case o.ID == "":
		return homeCurrent, ""
	case m == nil: // it does not say which checkpoint it is, or has lost what does
		if state, reason = emptyState(fsys, string(o.Home)); state != "" {
			return state, reason
		}
		return homeUnseen, fmt.Sprintf("there is no %s in %s, which would say whether this belongs to it", manifest.Name, o.Home)
	case m.ID != o.ID && names(m, o):
		return homeUnknown, fmt.Sprintf("%s in %s has another identity (%s, not %s) and names this place: one of the two is damaged: before the next start make it \"id\": %[4]q there, if that is what the other places have too", manifest.Name, o.Home, m.ID, o.ID)
	case m.ID != o.ID:
		return homeReplaced, fmt.Sprintf("the checkpoint in %s is another one (identity %s, not %s): perhaps it was made while the file system of the one that this belongs to was not mounted", o.Home, m.ID, o.ID)
	}
	return homeCurrent, ""
}

// names reports whether the places of a manifest's checkpoint are called as this one is:
// each checkpoint has a name of its own for them.
func names(n *manifest.Manifest, o nodelocal.Owner) bool {
	return slices.ContainsFunc(n.Nodes, func(node manifest.Node) bool { return filepath.Base(string(node.Dir)) == filepath.Base(string(o.Dir)) })
}
