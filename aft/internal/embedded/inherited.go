package embedded

import (
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm/driver"
)

// inherited is what the process has left in whose place this one was started.
type inherited struct {
	mu   sync.Mutex
	list []driver.Bequest
}

func (i *inherited) add(list []driver.Bequest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, list...)
}

// take returns what was left under a name, once.
func (i *inherited) take(name string) []driver.Memory {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.IndexFunc(i.list, func(b driver.Bequest) bool { return b.Name == name })
	if at < 0 {
		return nil
	}
	memory := i.list[at].Memory
	i.list = slices.Delete(i.list, at, at+1)
	return memory
}
