package launch

import (
	"errors"
	"sync"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/offheap"
)

// bequests are what processes of the node have left to those that replace them: memory that is
// open here, so that it outlives them.
type bequests struct {
	mu sync.Mutex
	of map[control.Proc][]bequest
}

type bequest struct {
	name    string
	windows []*offheap.Window
}

// hold opens what a process leaves, which still runs.
func (b *bequests) hold(from control.Proc, list []driver.Bequest) error {
	var errs []error
	for _, left := range list {
		one := bequest{name: left.Name}
		for _, m := range left.Memory {
			w, err := offheap.Address(m).Open()
			if err != nil {
				errs = append(errs, err)
				break
			}
			one.windows = append(one.windows, w)
		}
		if len(one.windows) < len(left.Memory) { // of no use without the rest
			errs = append(errs, one.close())
			continue
		}
		b.mu.Lock()
		if b.of == nil {
			b.of = make(map[control.Proc][]bequest)
		}
		b.of[from] = append(b.of[from], one)
		b.mu.Unlock()
	}
	return errors.Join(errs...)
}

// inherit gives an heir what was left, as it finds it here.
func (b *bequests) inherit(i control.Inherit) (list []driver.Bequest, err error) {
	if i.From == i.To {
		return nil, b.drop(i.From)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.of[i.From] {
		left := driver.Bequest{Name: one.name}
		for _, w := range one.windows {
			left.Memory = append(left.Memory, driver.Memory(w.Address()))
		}
		list = append(list, left)
	}
	if len(list) > 0 {
		b.of[i.To] = b.of[i.From]
		delete(b.of, i.From)
	}
	return list, nil
}

// drop closes what was left to a process, which has it now, or by one that nobody replaces here.
func (b *bequests) drop(of control.Proc) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, one := range b.of[of] {
		errs = append(errs, one.close())
	}
	delete(b.of, of)
	return errors.Join(errs...)
}

func (b bequest) close() error {
	var errs []error
	for _, w := range b.windows {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}
