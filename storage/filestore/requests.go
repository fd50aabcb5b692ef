package filestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// RequestPrefix and AnswerPrefix start the names of requests to the job that writes here, and of its answers.
const (
	RequestPrefix = "REQUEST-"
	AnswerPrefix  = "ANSWER-"
)

var requestPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(REQUEST|ANSWER)-([0-9a-f]{16})\.json$`)
})

const (
	// requestLimit is the size of a request, or an answer, in bytes that is read.
	requestLimit = 64 << 10
	// requestsListed is how many requests are looked at: nobody has more who means it.
	requestsListed = 256
	// requestsKept is how old a request of another job, or an answer that nobody has taken, gets.
	requestsKept = 24 * time.Hour
	// requestTries is for those that a start takes the hidden name away.
	requestTries = 5
)

// Requests are the requests beside the versions in a checkpoint's directory, as those who ask and those
// who answer see them. A request is taken back by removing it, and then its answer. Whoever answers
// writes the answer first, and looks for the request then: so no answer is left of one that was taken
// back, whatever comes first.
type Requests struct {
	fs  vfs.FS
	dir string
}

var _ storage.RequestStore = (*Requests)(nil)

// RequestsIn are those in a directory.
func RequestsIn(fsys vfs.FS, dir string) *Requests { return &Requests{fs: fsys, dir: dir} }

// RequestsOf are those to the job of a store, among others.
func RequestsOf(s *Store) *Requests { return RequestsIn(s.fs, s.dir) }

// requestID is the identity in the name of a request or an answer; "": it is no such name.
func requestID(prefix, name string) string {
	if m := requestPattern().FindStringSubmatch(name); m != nil && m[1]+"-" == prefix {
		return m[2]
	}
	return ""
}

func (r *Requests) path(prefix, id string) string { return filepath.Join(r.dir, prefix+id+".json") }

func checkRequestID(id string) error {
	if requestID(RequestPrefix, RequestPrefix+id+".json") == "" {
		return fmt.Errorf("request %q: %w: it has 16 hexadecimal digits", id, storage.ErrName)
	}
	return nil
}

// ListRequests implements storage.RequestStore. There are none in a directory that is not there.
func (r *Requests) ListRequests(context.Context) (ids []string, err error) {
	entries, err := r.fs.ReadDir(r.dir)
	for _, e := range entries {
		if id := requestID(RequestPrefix, e.Name()); id != "" && len(ids) < requestsListed {
			ids = append(ids, id)
		}
	}
	return ids, vfs.IgnoreMissing(err)
}

// All returns what there is of requests and answers, for tools, in the order in which they were made. An answer whose request is gone
// comes with fs.ErrNotExist.
func (r *Requests) All(ctx context.Context) (list []storage.Asked, err error) {
	entries, err := r.fs.ReadDir(r.dir)
	if err != nil {
		return nil, vfs.IgnoreMissing(err)
	}
	seen := make(map[string]bool)
	for _, e := range entries {
		id := cmp.Or(requestID(RequestPrefix, e.Name()), requestID(AnswerPrefix, e.Name()))
		if id == "" || seen[id] || len(seen) == requestsListed {
			continue
		}
		seen[id] = true
		asked, err := r.ReadRequest(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			asked.Err = err
			asked.Answer, err = r.ReadAnswer(id)
			if asked.Answer == nil && err == nil {
				continue // taken meanwhile
			}
		}
		if err != nil {
			asked.Err = err
		}
		list = append(list, asked)
	}
	slices.SortStableFunc(list, func(a, b storage.Asked) int { return a.Request.Created.Compare(b.Request.Created) })
	return list, nil
}

// ReadRequest implements storage.RequestStore.
func (r *Requests) ReadRequest(_ context.Context, id string) (storage.Asked, error) {
	if err := checkRequestID(id); err != nil {
		return storage.Asked{}, err
	}
	asked := storage.Asked{ID: id}
	path := r.path(RequestPrefix, id)
	info, err := r.fs.Stat(path)
	var data []byte
	if err == nil {
		asked.Written = info.ModTime()
		data, err = vfs.ReadFile(r.fs, path, requestLimit)
	}
	if errors.Is(err, fs.ErrNotExist) && vfs.Dangling(r.fs, path) == nil {
		return asked, err
	}
	if err == nil {
		asked.Request, err = storage.ParseRequest(data)
	} else {
		asked.Passing = !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !isNoFile(err)
	}
	if err != nil {
		asked.Err = fmt.Errorf("%s is no request that can be carried out: %w", path, err)
	}
	if a, err := r.ReadAnswer(id); err == nil {
		asked.Answer = a
	}
	return asked, nil
}

// ReadAnswer returns the answer to a request; nil: there is none.
func (r *Requests) ReadAnswer(id string) (*storage.Answer, error) {
	if err := checkRequestID(id); err != nil {
		return nil, err
	}
	path := r.path(AnswerPrefix, id)
	data, err := vfs.ReadFile(r.fs, path, requestLimit)
	if err != nil {
		return nil, vfs.IgnoreMissing(err)
	}
	a, err := storage.ParseAnswer(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no answer: %w", path, err)
	}
	return &a, nil
}

// Ask leaves a request and returns its identity.
func (r *Requests) Ask(q storage.Request) (id string, err error) {
	if err := q.Validate(); err != nil {
		return "", err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	id = hex.EncodeToString(random[:])
	for range requestTries { // a start of the job deletes what is hidden, as left by a crash
		err = writeJSON(r.fs, r.path(RequestPrefix, id), q, true)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		_, _ = r.RemoveRequest(context.Background(), id)
		return "", refused(err)
	}
	return id, nil
}

// AnswerRequest implements storage.RequestStore.
func (r *Requests) AnswerRequest(_ context.Context, id string, a storage.Answer) error {
	if err := checkRequestID(id); err != nil {
		return err
	}
	if err := writeJSON(r.fs, r.path(AnswerPrefix, id), a, true); err != nil {
		return err
	}
	var gone error
	if request := r.path(RequestPrefix, id); a.Final() {
		gone = r.fs.Remove(request)
	} else {
		_, gone = r.fs.Stat(request)
	}
	if errors.Is(gone, fs.ErrNotExist) {
		gone = vfs.IgnoreMissing(r.fs.Remove(r.path(AnswerPrefix, id)))
	}
	if gone != nil {
		return gone
	}
	return r.fs.SyncDir(r.dir)
}

// RemoveRequest implements storage.RequestStore.
func (r *Requests) RemoveRequest(_ context.Context, id string) (was bool, err error) {
	if err := checkRequestID(id); err != nil {
		return false, err
	}
	gone := r.fs.Remove(r.path(RequestPrefix, id))
	err = errors.Join(vfs.IgnoreMissing(gone), vfs.IgnoreMissing(r.fs.Remove(r.path(AnswerPrefix, id))))
	if err == nil {
		err = vfs.IgnoreMissing(r.fs.SyncDir(r.dir))
	}
	return gone == nil, err
}

// clean removes, of the names in the directory, what nobody waits for any more: requests to other jobs
// than this one, and answers without a request, that are older than a day.
func (r *Requests) clean(ctx context.Context, names []fs.DirEntry, job string) {
	there := make(map[string]bool)
	for _, e := range names {
		if id := requestID(RequestPrefix, e.Name()); id != "" {
			there[id] = true
			asked, err := r.ReadRequest(ctx, id)
			if err == nil && (asked.Err != nil || asked.Request.Job != job) && isOld(asked.Written) {
				_, _ = r.RemoveRequest(ctx, id) // it does no harm
			}
		}
	}
	for _, e := range names {
		if id := requestID(AnswerPrefix, e.Name()); id != "" && !there[id] {
			if info, err := r.fs.Stat(r.path(AnswerPrefix, id)); err == nil && isOld(info.ModTime()) {
				_ = r.fs.Remove(r.path(AnswerPrefix, id))
			}
		}
	}
}

func isOld(written time.Time) bool { return !written.IsZero() && time.Since(written) > requestsKept }

// Mode is that of the files which the holder of the lock makes: others have to be able to read
// what is left for it.
func (r *Requests) Mode() fs.FileMode {
	info, err := r.fs.Stat(filepath.Join(r.dir, LockName))
	if err != nil {
		return filePerm
	}
	return filePerm | info.Mode().Perm()&0o066
}
