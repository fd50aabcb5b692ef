package memory

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"sync"

	"github.com/craft-go/craft/storage"
)

// CreateObject starts an object that another rank sends. One of the same key that is here stays until
// the new one's Commit puts it in its place. base is a version of which it may be told to take pieces.
func (o *Objects) CreateObject(ctx context.Context, key storage.ObjectKey, base storage.ID) (storage.PartWriter, error) {
	w, err := o.create(ctx, key)
	if err != nil {
		return nil, err
	}
	w.pin(base)
	return &receiver{writer: w}, nil
}

// create starts an object of which the bytes are written.
func (o *Objects) create(ctx context.Context, key storage.ObjectKey) (*writer, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.ask("create", key); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(key); err != nil {
		return nil, err
	}
	return &writer{objects: o, key: key}, nil
}

// writer is an object that is not there yet.
type writer struct {
	objects *Objects
	key     storage.ObjectKey

	base *reader // pieces of which are taken; nil: none are

	mu     sync.Mutex
	inBase map[*extent]int // bytes of the base; nil: not known yet
	made   object
	last   *extent // that is being filled
	left   int     // of its bytes, at the end
	over   error   // why nothing more is taken; nil: something may be

	// using is held, by many, while something is put into extents; ended is set by whoever holds
	// it alone.
	using sync.RWMutex
	ended bool
}

// ownExtent is from how many bytes on what is written at once gets extents of its own: then what is
// no longer needed of a version does not stay because of what is next to it.
const ownExtent = 64 << 10

// reserve makes the next n bytes, and returns where they are.
func (w *writer) reserve(n int) (rooms []room, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil {
		return nil, w.over
	}
	if n >= ownExtent {
		w.left = 0
	}
	var ahead []*extent
	for n > 0 {
		taken := w.left == 0
		if taken {
			if len(ahead) == 0 {
				if ahead, err = w.take((n + extentSize - 1) / extentSize); err != nil {
					return nil, err
				}
			}
			w.last, ahead, w.left = ahead[0], ahead[1:], extentSize
		}
		p := piece{of: w.last, from: extentSize - w.left, n: min(n, w.left), at: w.made.size}
		w.left, n = w.left-p.n, n-p.n
		w.made.size += int64(p.n)
		rooms = adjoin(rooms, p.room(), math.MaxInt)
		switch all := w.made.pieces; {
		case taken:
			w.made.pieces = append(all, p)
		case len(all) > 0 && all[len(all)-1].of == p.of && all[len(all)-1].from+all[len(all)-1].n == p.from:
			all[len(all)-1].n += p.n
		default:
			w.objects.store.extents.share([]piece{p})
			w.made.pieces = append(all, p)
		}
	}
	return rooms, nil
}

// pin makes an object of an older version the base, and reports whether it is here.
func (w *writer) pin(id storage.ID) bool {
	r, err := w.objects.OpenObject(context.Background(), storage.ObjectKey{ID: id, Kind: w.key.Kind, Part: w.key.Part})
	if err != nil {
		return false
	}
	w.base, w.inBase = r.(*reader), nil
	return true
}

// repeat appends bytes of the base: those pieces of memory are in both, but for small ones of which little is left
// around them. Those would keep an extent each in the end, from version to version.
func (w *writer) repeat(off int64, n int) error {
	w.mu.Lock()
	base := w.base
	if base == nil || n < 0 || off < 0 || off+int64(n) > base.size {
		w.mu.Unlock()
		return fmt.Errorf("%v: %d bytes at %d of a version that is not in memory: %w", w.key, n, off, storage.ErrNotFound)
	}
	if w.inBase == nil {
		w.inBase = base.extents()
	}
	pieces, inBase := base.cut(off, n), w.inBase
	w.mu.Unlock()
	for _, p := range pieces {
		if p.n < ownExtent && inBase[p.of] < extentSize/2 {
			if err := w.again(p); err != nil {
				return err
			}
			continue
		}
		w.mu.Lock()
		w.objects.store.extents.share([]piece{p})
		w.append([]piece{p})
		w.mu.Unlock()
	}
	return nil
}

// again appends a piece of the base that is copied.
func (w *writer) again(p piece) error {
	rooms, err := w.reserve(p.n)
	if err != nil {
		return err
	}
	w.using.RLock()
	defer w.using.RUnlock()
	if w.ended {
		return nil // the base may be gone
	}
	from := p.bytes()
	for _, room := range rooms {
		from = from[room.fill(from):]
	}
	return nil
}

// append adds pieces that have the object as a user.
func (w *writer) append(pieces []piece) {
	for _, p := range pieces {
		p.at = w.made.size
		w.made.pieces = append(w.made.pieces, p)
		w.made.size += int64(p.n)
	}
}

// into returns what fills the rooms, one after the other.
func (w *writer) into(rooms []room) (take func([]byte)) {
	return func(p []byte) {
		w.using.RLock()
		defer w.using.RUnlock()
		for !w.ended && len(p) > 0 && len(rooms) > 0 {
			k := rooms[0].fill(p)
			rooms[0].at, rooms[0].n, p = rooms[0].at+k, rooms[0].n-k, p[k:]
			if rooms[0].n == 0 {
				rooms = rooms[1:]
			}
		}
	}
}

// room is where the next n bytes, which come, are to go.
func (w *writer) room(n int) ([]room, error) {
	if err := w.objects.ask("write", w.key); err != nil {
		return nil, err
	}
	return w.reserve(n)
}

func (w *writer) Write(p []byte) (int, error) {
	rooms, err := w.room(len(p))
	if err != nil {
		return 0, err
	}
	w.into(rooms)(p)
	return len(p), nil
}

// Commit publishes the object.
func (w *writer) Commit() error {
	if !w.end() {
		return fs.ErrClosed
	}
	defer w.unpin()
	defer w.objects.came(w)
	err := w.objects.ask("commit", w.key)
	if err == nil {
		err = w.objects.publish(w.key, w)
	}
	if err != nil {
		w.objects.store.extents.giveBack(w.made.pieces)
	}
	return err
}

// Abort throws it away; what Commit has published stays.
func (w *writer) Abort() error {
	if w.end() {
		w.objects.store.extents.giveBack(w.made.pieces)
		w.unpin()
		w.objects.came(w)
	}
	return nil
}

func (w *writer) unpin() {
	if w.base != nil {
		_ = w.base.Close() // nothing was written
		w.base = nil
	}
}

// end lets nothing more be taken, nor put into the extents, and reports whether that was so before.
func (w *writer) end() (first bool) {
	w.mu.Lock()
	w.over = cmp.Or(w.over, fs.ErrClosed) // what another rank sends is expected by another goroutine, perhaps just now
	w.mu.Unlock()
	w.using.Lock()
	defer w.using.Unlock()
	first = !w.ended
	w.ended = true
	return first
}
