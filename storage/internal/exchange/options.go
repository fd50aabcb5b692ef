package exchange

import "log/slog"

// Options of a Service. The zero value is good; values out of range are taken as
// the nearest allowed one. The ranks should have the same ones; where Block
// differs, the smaller one counts for a stream.
type Options struct {
	// Block is how many bytes travel at once: 512 KiB if 0, 4 KiB to 64 MiB. It
	// should stay in the cache of a core from the copy to the checksum.
	Block int
	// Window is how many blocks of a part may be under way: 8 if 0, at most 64.
	Window int
	// Streams is how many streams this rank may have open to one other rank, and
	// how many of one other rank it serves, at the same time: 8 if 0, at most
	// 1024. More wait at the rank that wants them. Questions: Window times as many.
	Streams int
	// Around, if not nil, runs the body of what this rank does for others in
	// goroutines of the service: it checks and stores what comes, and reads what goes.
	Around func(body func())
	// Log gets what nobody else is told: requests that make no sense.
	Log *slog.Logger
}

const (
	minBlock   = 4 << 10
	maxBlock   = 64 << 20
	maxWindow  = 64
	maxStreams = 1024
)

func (o Options) complete() Options {
	between := func(v *int, unset, low, high int) {
		if *v == 0 {
			*v = unset
		}
		*v = min(max(*v, low), high)
	}
	between(&o.Block, 512<<10, minBlock, maxBlock)
	between(&o.Window, 8, 1, maxWindow)
	between(&o.Streams, 8, 1, maxStreams)
	if o.Around == nil {
		o.Around = func(body func()) { body() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
