package filestore

import (
	"fmt"

	"github.com/craft-go/craft/storage"
)

// CheckName returns an error matching storage.ErrName if a checkpoint of that name would
// look like what the directory of a checkpoint holds: then the base directory of both
// would be taken for a checkpoint, and no other one would be found in it.
func CheckName(name string) error {
	if err := storage.CheckName("checkpoint name", name); err != nil {
		return err
	}
	what := OfCheckpoint(name)
	if what == "" {
		return nil
	}
	return fmt.Errorf("checkpoint name %q: %w: it is the name of %s in a checkpoint's own directory: take another one (what is stored under this one names it in its files, so that renaming the directory is of no use: begin anew, and move it out of the base directory)",
		name, storage.ErrName, what)
}

// OfCheckpoint says what of the directory of a checkpoint has that name, such as "a
// version"; "" if nothing there is called so.
func OfCheckpoint(name string) string {
	_, version := storage.ParseID(name)
	_, mark := parseMark(name)
	switch {
	case version:
		return "a version"
	case name == storage.ManifestName, name == LatestName, name == storage.WayBackName:
		return "a note"
	case mark:
		return "the mark of a version"
	case recordPattern().MatchString(name):
		return "the record of a run"
	case requestPattern().MatchString(name):
		return "a request"
	}
	return ""
}
