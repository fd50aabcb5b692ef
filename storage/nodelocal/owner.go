package nodelocal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
)

// OwnerName is the name of the file that says whose a place is.
const OwnerName = "OWNER.json"

// ownerLimit is the size of the file in bytes that is accepted.
const ownerLimit = 1 << 20

const ownerFormat = 1

// Identity is a user on a node.
type Identity struct {
	UID  int    `json:"uid"`
	User string `json:"user"` // for people
	Host string `json:"host"`
	// Machine tells hosts of the same name apart, Boot is of the running
	// kernel, containers included; empty if unknown.
	Machine string `json:"machine,omitempty"`
	Boot    string `json:"boot,omitempty"`
}

// ThisIdentity describes the running process.
var ThisIdentity = sync.OnceValue(func() Identity {
	p := procid.This()
	return Identity{UID: os.Geteuid(), User: userName(), Host: p.Host, Machine: p.Machine, Boot: p.Boot}
})

func userName() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid // not every container knows its users
}

// SameNode reports whether two identities are of one node. The same running
// kernel is; otherwise one may be of before a reboot, or of another node.
func (i Identity) SameNode(other Identity) bool {
	if i.Boot != "" && i.Boot == other.Boot {
		return true // perhaps in containers with host names of their own
	}
	if i.Machine != "" && other.Machine != "" && i.Machine != other.Machine {
		return false
	}
	return i.Host == other.Host
}

// Owner is the content of OWNER.json: who made a place, when, for which
// checkpoint, and where it was then.
type Owner struct {
	Format int    `json:"format"`
	Name   string `json:"checkpoint"`
	ID     string `json:"store,omitempty"` // the identity of the store in home
	Identity
	Created time.Time       `json:"created"`
	Home    osstring.String `json:"home"` // the checkpoint's directory on the parallel file system
	Dir     osstring.String `json:"directory"`
}

// ReadOwner reads the owner of a place; the error matches fs.ErrNotExist if it
// does not tell.
func ReadOwner(fsys vfs.Reader, dir string) (Owner, error) {
	var o Owner
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, OwnerName), ownerLimit)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, placeError(dir, ErrForeign, "if you know that the directory is of this checkpoint, delete "+OwnerName+", else the directory",
			"%s cannot be understood (%v)", OwnerName, err)
	}
	return o, nil
}

// writeOwner signs the place. It is synced whatever the policy is, so that no
// crash leaves a place with a file that nobody understands.
func (s *Store) writeOwner() error {
	data, err := json.MarshalIndent(Owner{
		Format: ownerFormat, Name: s.config.Name, Home: osstring.String(s.config.Home), ID: s.config.ID, Dir: osstring.String(s.dir), Identity: s.config.Self, Created: time.Now().Truncate(time.Second),
	}, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(s.config.FS, filepath.Join(s.dir, OwnerName), append(data, '\n'), filePerm, true)
}

// checkOwner returns nil if the place was made by this user, for this
// checkpoint, here. A place without a signature passes: its name has the id, and
// its maker was killed before it could sign, or a user has removed the file
// because this very function asked for it.
func (s *Store) checkOwner() (signed bool, err error) {
	o, err := ReadOwner(s.config.FS, s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case o.Format != ownerFormat:
		err = placeError(s.dir, ErrForeign, "use the program that made it, or delete the directory",
			"%s has format %d, this program knows %d", OwnerName, o.Format, ownerFormat)
	case o.Name != s.config.Name || string(o.Home) != s.config.Home:
		err = placeError(s.dir, ErrForeign, "give it back its name, or delete it",
			"it was made for checkpoint %q in %s, this one is %q in %s", o.Name, o.Home, s.config.Name, s.config.Home)
	case o.ID != s.config.ID:
		err = placeError(s.dir, ErrForeign, "it is of an earlier checkpoint that was deleted there: delete it too",
			"it belongs to a store in %s with the identity %q, the one there now has %q", o.Home, o.ID, s.config.ID)
	case o.UID != s.config.Self.UID:
		err = placeError(s.dir, ErrNotPrivate, "run as that user, let CRAFT_NODE_PATH name another directory, or delete it",
			"it was made by user %s (uid %d), this is uid %d", o.User, o.UID, s.config.Self.UID)
	case !o.SameNode(s.config.Self):
		err = placeError(s.dir, ErrCopied, "delete it if it was copied here; if several nodes see the same directory, let CRAFT_NODE_PATH name one that each node has for itself",
			"it was made on host %s at %s, this is host %s", o.Host, o.Created.Format(time.DateTime), s.config.Self.Host)
	case string(o.Dir) != s.dir && !s.sameDir(string(o.Dir)):
		err = placeError(s.dir, ErrCopied, "delete it if it was copied; if it was moved, or the path of the disk has changed, delete "+OwnerName+" in it",
			"it was made as %s", string(o.Dir))
	}
	return true, err
}

// sameDir reports that another path leads to the place, by a link in the path of
// the root.
func (s *Store) sameDir(other string) bool {
	a, err1 := s.config.FS.Stat(other)
	b, err2 := s.config.FS.Stat(s.dir)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// uidOf returns the user that a file belongs to, if its file system has users.
func uidOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
