package container

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
)

// Options of an Encoder. The zero value is good.
type Options struct {
	ChunkSize   int         // raw bytes per chunk; 0: 4 MiB; a power of two from 4 KiB to 64 MiB
	Workers     int         // goroutines that checksum and compress; 0: GOMAXPROCS
	Compression Compression // Auto (default, zero value), Off, Always
	// Around, if not nil, runs the body of every goroutine that an Encode
	// starts; nil: the body is run as it is.
	Around func(body func())
}

// Validate returns an error that names the first bad option.
func (o Options) Validate() error {
	if o.ChunkSize != 0 && !validChunkSize(o.ChunkSize) {
		return invalidf("chunk size %d (allowed: powers of two from %d to %d, 0 for %d)", o.ChunkSize, minChunkSize, maxChunkSize, defaultChunkSize)
	}
	if o.Workers < 0 {
		return invalidf("%d workers (allowed: 1 or more, 0 for as many as processors)", o.Workers)
	}
	if o.Compression > Always {
		return invalidf("compression %d (allowed: Auto, Off, Always)", o.Compression)
	}
	return nil
}

// Stats says what an Encode did. Chunks that are in other files, of other ranks
// or of older versions, do not count.
type Stats struct {
	RawBytes   int64 // of the chunks in this file, before compression
	FileBytes  int64
	Chunks     int // in this file
	Compressed int // of them
}

// bufferBudget bounds the bytes of an Encoder's chunk buffers with the default
// chunk size; with larger chunks it has at least four.
const bufferBudget = 36 << 20

// Encoder writes files. It keeps its buffers from one to the next, which makes
// it faster and bounds its memory to about 40 MiB (more if chunks are larger
// than 8 MiB).
type Encoder struct {
	opts Options
	busy atomic.Bool
	done bool // the last Encode was successful

	out     output
	x       index
	meta    []byte        // header, later footer and trailer
	keys    []string      // of the last version, as far as each is there once
	small   []byte        // start of a streamed value
	packers []*compressor // of the workers; the first one's also of the calling goroutine, before there are any
	jobs    []*job
	bufs    []*buffer
}

// NewEncoder returns an Encoder or an error about the options.
func NewEncoder(o Options) (*Encoder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = defaultChunkSize
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Encoder{opts: o}, nil
}

// ChunkSize returns the raw bytes per chunk.
func (e *Encoder) ChunkSize() int { return e.opts.ChunkSize }

// Encode writes one file to w, with the sections in their order, in large pieces; w is used by one
// goroutine at a time. What was written before an error cannot be opened. One Encode at a time.
// Errors match ErrInvalid if header or sections cannot be stored (then nothing
// has been written, unless a Source made another number of bytes than its
// description says) and otherwise wrap the error of w, of a Source or of ctx.
func (e *Encoder) Encode(ctx context.Context, w io.Writer, h Header, sections []Section) (Stats, error) {
	h.Oldest = 0
	return e.encodeFile(ctx, w, h, sections, nil)
}

func (e *Encoder) encodeFile(ctx context.Context, w io.Writer, h Header, sections []Section, d *deltaRun) (Stats, error) {
	if !e.busy.CompareAndSwap(false, true) {
		return Stats{}, invalidf("Encode is called while another Encode of the same Encoder runs")
	}
	defer e.busy.Store(false)
	e.done = false
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	if p := h.problem(); p != "" {
		return Stats{}, invalidf("header: %s", p)
	}
	if err := e.validate(sections); err != nil {
		return Stats{}, err
	}
	stats, err := newEncoding(e, ctx, w, sections, d).encode(&h)
	e.done = err == nil
	return stats, err
}

// validate fills the index with what is known before the sections are read.
func (e *Encoder) validate(sections []Section) error {
	e.x.entries = slices.Grow(e.x.entries[:0], len(sections))[:len(sections)]
	twice := e.twice(sections)
	for i := range sections {
		s, en := &sections[i], &e.x.entries[i]
		en.key, en.desc, en.geom = s.Key, s.Desc, geometry{totalLen(s.Spans), e.opts.ChunkSize}
		en.inspected = s.inspected()
		p := "key is used twice"
		if i != twice {
			p = cmp.Or(s.problem(en), s.finiteProblem())
		}
		if p != "" {
			return &SectionError{Key: s.Key, Index: i, Reason: p}
		}
	}
	return nil
}

func (s *Section) problem(en *entry) string {
	if s.Source == nil && s.Feed == nil {
		return en.problem()
	}
	if s.Spans != nil || s.Source != nil && s.Feed != nil {
		return "has more than one of Spans, Source and Feed (allowed: one of them)"
	}
	return cmp.Or(keyProblem(s.Key), s.Desc.problem())
}

// twice returns the first section whose key one before it has; -1: none. Versions mostly
// have the keys of the one before, in the same order, which then need no new look.
func (e *Encoder) twice(sections []Section) int {
	known := 0
	for known < min(len(sections), len(e.keys)) && sections[known].Key == e.keys[known] {
		known++
	}
	if known == len(sections) {
		return -1
	}
	e.keys = e.keys[:0]
	seen := make(map[string]struct{}, len(sections))
	for i := range sections {
		key := sections[i].Key
		if _, ok := seen[key]; ok {
			return i
		}
		seen[key] = struct{}{}
		e.keys = append(e.keys, key)
	}
	return -1
}
