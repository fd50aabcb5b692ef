package comm

import "sync"

// Zones counts the zones of a session: they follow one another. The zero Zones has none yet.
// Its methods may be called concurrently.
type Zones struct {
	mu      sync.Mutex
	begun   int
	running bool
}

// EnterZone numbers a zone, from 0; it reports false while another one runs.
func (z *Zones) EnterZone() (number int, alone bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.running {
		return 0, false
	}
	z.running = true
	z.begun++
	return z.begun - 1, true
}

// LeaveZone ends the zone that was entered last.
func (z *Zones) LeaveZone() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.running = false
}
