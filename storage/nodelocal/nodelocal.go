package nodelocal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600
)

// Config says where a Store is and how it works.
type Config struct {
	// Root is a directory on the node (CRAFT_NODE_PATH). It is made if it is
	// missing.
	Root string
	// Name is the checkpoint's name, Home its directory on the parallel file
	// system. Every process that is to find the same place has to give Home in
	// the same spelling; only a relative path is made absolute.
	Name, Home string
	// ID is the identity of the store at Home, which is as old as that
	// directory: what a deleted one of the same path has left on the node is of
	// another place. Empty: it has none.
	ID string
	// Sync says what a commit waits for; filestore.SyncFull if empty.
	Sync filestore.Sync
	// FS is the file system; nil: that of the operating system.
	FS vfs.FS
	// Job is the same for all processes of a job, in all its epochs: while one of them
	// uses the place, no other job does (storage.ErrLocked). Empty: any other may, as for
	// tools. Patience is how long a job that uses the place is waited for, which may be
	// just ending (5 s if 0).
	Job      string
	Patience time.Duration
	// Self is the user and the node; zero: of this process.
	Self Identity

	smallestSpare int64 // as filestore has it; set by tests
}

// Store is the storage of one checkpoint on one node. Its methods may be called
// concurrently, also by several processes.
type Store struct {
	view // of the parts

	config Config // complete; Job is "" after Leave

	dir   string
	uidOf func(fs.FileInfo) (uid int, known bool)
	files *filestore.Store // knows how a version is written and deleted

	mu    sync.Mutex
	lock  vfs.LockFile // of the place; nil: none
	place fs.FileInfo  // of the place when it was found to be ours, nil before
	gone  bool         // it was ours and has vanished: whoever wrote was told
	disk  uint64       // the device of the root when the place was found to be ours, 0 before or if unknown
}

var (
	_ storage.Driver   = (*Store)(nil)
	_ storage.Preparer = (*Store)(nil)
)

// New returns the storage of one checkpoint on this node. It touches no file.
func New(c Config) (*Store, error) {
	if err := storage.CheckName("checkpoint name", c.Name); err != nil {
		return nil, err
	}
	if c.Root == "" {
		return nil, errors.New("no directory for the storage of the node: set CRAFT_NODE_PATH")
	}
	if c.Home == "" {
		return nil, fmt.Errorf("checkpoint %q: no directory on the parallel file system that its storage on the node belongs to", c.Name)
	}
	var err error
	if c.Root, err = filepath.Abs(c.Root); err != nil {
		return nil, err
	}
	if c.Home, err = filepath.Abs(c.Home); err != nil {
		return nil, err
	}
	c.Patience, c.FS, c.Self = cmp.Or(c.Patience, 5*time.Second), cmp.Or(c.FS, vfs.OS()), cmp.Or(c.Self, ThisIdentity())
	base := placeName(c.Name, c.Home, c.ID)
	s := &Store{config: c, dir: filepath.Join(c.Root, base), uidOf: uidOf}
	s.view = view{store: s, kind: storage.KindPart}
	s.files, err = filestore.New(filestore.Config{Path: c.Root, Name: base, Sync: c.Sync, FS: c.FS, SmallestSpare: c.smallestSpare})
	return s, err
}

// placeName gives the name of a place's directory: "lanczos-4f1c0a9be2d37788".
// Names that would become too long are cut, the id tells them apart.
func placeName(name, home, storeID string) string {
	what := name + "\x00" + home
	if storeID != "" {
		what += "\x00" + storeID
	}
	sum := sha256.Sum256([]byte(what))
	id := "-" + hex.EncodeToString(sum[:8])
	room := storage.MaxName - len(id)
	if len(name) > room {
		for !utf8.RuneStart(name[room]) {
			room--
		}
		name = strings.TrimSpace(name[:room])
	}
	return name + id
}

// Dir is the directory of the checkpoint on this node.
func (s *Store) Dir() string { return s.dir }

// Prepare implements storage.Preparer: it makes the place and deletes what
// killed processes have left half-written, and the versions that keep does not
// want. keep sees the parts that are on this node, which are hardly ever all of
// a version: it has to know of the other nodes; with nil, nothing is deleted.
// One process of the node calls it with a keep, before any of them writes.
func (s *Store) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if err := s.claim(ctx); err != nil {
		return err
	}
	if keep == nil {
		return nil
	}
	entries, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if keep(e) {
			continue
		}
		if err := s.files.Remove(ctx, e.ID); err != nil {
			return err
		}
	}
	s.sweep()
	return nil
}
