package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeListing is the JSON document of craft node ls.
type nodeListing struct {
	Path   osstring.String `json:"path"`
	Places []nodedPlace    `json:"places"`
}

// nodedPlace is what a checkpoint has on this node.
type nodedPlace struct {
	Dir        osstring.String `json:"directory"`
	Checkpoint string          `json:"checkpoint"`
	Home       osstring.String `json:"home"` // the checkpoint's directory on the parallel file system
	Store      string          `json:"store"`
	Host       string          `json:"host"` // that made it
	Versions   int             `json:"versions"`
	Objects    int             `json:"objects"` // parts, copies and parity
	Bytes      int64           `json:"bytes"`
	Spare      int64           `json:"spare_bytes"`
	Newest     *uint64         `json:"newest"` // version of which anything is here; null: none
	Created    *time.Time      `json:"created"`
	Used       *time.Time      `json:"used"` // when it was last changed
	State      string          `json:"state"`
	Reason     string          `json:"reason,omitempty"`
}

func (p *program) nodeLsCommand(root func() string) *cobra.Command {
	return p.placesCommand(root, "a table", p.nodeLs, &cobra.Command{
		Use:   "ls",
		Short: "List what checkpoints have on this node",
		Long: `List what checkpoints have on this node: versions, objects (parts, copies and
parity), bytes of them and of spare files, the newest version, and the state of the
checkpoint's directory on the parallel file system (HOME):

  current       it is there: the next job restarts from this place
  in use        a job has it open
  gone          it was deleted; craft node clean deletes the place
  replaced      another checkpoint is there now: it was deleted, or that one was made
                while a file system was not mounted
  half removed  somebody began to delete the place; craft node clean goes on
  not seen      nothing there tells what became of it: perhaps a file system that
                is not mounted here
  unknown       it cannot be looked at
  not a place   this directory cannot be used, whatever it belongs to`,
		Example: `  craft node ls
  craft node ls --node-path /nvme/me --json`,
	})
}

func (p *program) nodeLs(ctx context.Context, root string) (overview, error) {
	list, err := p.describePlaces(ctx, root)
	return overview{document: nodeListing{osstring.String(root), list}, empty: len(list) == 0}, err
}

func (p *program) describePlaces(ctx context.Context, root string) ([]nodedPlace, error) {
	places, err := p.nodePlaces(ctx, root)
	if err != nil {
		return nil, err
	}
	list := []nodedPlace{}
	for _, place := range places {
		list = append(list, describePlace(p.fs, place))
	}
	return list, ctx.Err()
}

func describePlace(fsys vfs.FS, place nodelocal.Place) nodedPlace {
	o := place.Owner
	n := nodedPlace{
		Dir: osstring.String(place.Dir), Checkpoint: o.Name, Home: o.Home, Store: o.ID, Host: o.Host, Created: documentTime(o.Created),
		Versions: place.Versions, Objects: place.Objects, Bytes: place.Bytes, Spare: place.Spare,
	}
	if !place.Newest.IsZero() {
		n.Newest = &place.Newest.Version
	}
	n.Used = lastUsed(fsys, place.Dir)
	n.State, n.Reason = homeState(fsys, place)
	return n
}

// lastUsed is when anything was written to or deleted from a place; nil if that
// is not known.
func lastUsed(fsys vfs.FS, dir string) *time.Time {
	info, err := fsys.Stat(dir)
	if err != nil {
		return nil
	}
	last := info.ModTime()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return documentTime(last)
}

func (l nodeListing) print(s *screen) {
	used := "USED"
	if s.width > 0 {
		used = "LAST USED"
	}
	t := newTable(
		left("CHECKPOINT"), left("HOME"), right("VERSIONS"), right("NEWEST"), right("OBJECTS").drop(2), right("SIZE"), right("SPARE").drop(1),
		left(used).drop(3), left("DIRECTORY"), left("OF").drop(4),
	)
	for _, n := range l.Places {
		t.add(n.Checkpoint, n.State, strconv.Itoa(n.Versions), orDash(n.Newest), strconv.Itoa(n.Objects), s.size(n.Bytes), s.size(n.Spare), s.moment(n.Used), string(n.Dir), string(n.Home))
	}
	s.show(t, s.width)
	for _, n := range l.Places {
		if n.Reason != "" {
			s.say("%s: %s: %s", n.Dir, n.State, n.Reason)
		}
	}
}
