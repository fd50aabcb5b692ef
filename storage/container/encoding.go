package container

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// parallelSize is how many bytes are encoded by the calling goroutine alone
// before others are started.
const parallelSize = 512 << 10

// aheadSize is how many bytes of small chunks may wait for a worker.
const aheadSize = 2 << 20

// errStopped tells the encoding goroutine that another one has failed.
var errStopped = errors.New("stopped")

// encoding is one run of Encode. The calling goroutine cuts sections into jobs;
// workers, if it is worth their start, checksum and compress ahead of the one
// writer, which knows the offsets.
type encoding struct {
	*Encoder
	ctx      context.Context
	sections []Section
	free     chan *job
	spare    chan *buffer
	pipe     *pipeline // nil: everything is done by the calling goroutine
	alone    int       // bytes encoded without pipe

	batch  *job // being filled; nil: none
	chunks int  // of all sections so far
	one    single
	delta  *deltaRun // nil: no references

	// The writer's.
	stats  Stats
	stored int // the last section that has a stored chunk; -1: none
}

func newEncoding(e *Encoder, ctx context.Context, w io.Writer, sections []Section, d *deltaRun) *encoding {
	e.out.reset(w)
	e.x.chunks = e.x.chunks[:0]
	e.prepare()
	r := &encoding{
		Encoder:  e,
		ctx:      ctx,
		sections: sections,
		free:     make(chan *job, len(e.jobs)),
		spare:    make(chan *buffer, len(e.bufs)),
		delta:    d,
		stored:   -1,
	}
	for _, j := range e.jobs {
		j.reset()
		r.free <- j
	}
	for _, b := range e.bufs {
		r.spare <- b
	}
	return r
}

// prepare makes what is kept from version to version; large memory is allocated
// when it is used.
func (e *Encoder) prepare() {
	if e.jobs != nil {
		return
	}
	e.packers = []*compressor{new(compressor)}
	// With small chunks a worker has several waiting for it, so that goroutines
	// need not be woken for each.
	ahead := max(2, aheadSize/e.opts.ChunkSize)
	e.jobs = make([]*job, min(ahead*e.opts.Workers+2, 64))
	for i := range e.jobs {
		e.jobs[i] = newJob()
	}
	e.bufs = make([]*buffer, min(max(4, bufferBudget/e.opts.ChunkSize), 2*len(e.jobs)))
	for i := range e.bufs {
		e.bufs[i] = new(buffer)
	}
}

func (r *encoding) encode(h *Header) (stats Stats, err error) {
	defer func() {
		// Also when a Source panics: nobody may use the user's memory later.
		err = r.stop(err)
		for _, j := range r.jobs {
			j.reset()
		}
		r.out.w = nil
		if err != nil {
			stats = Stats{}
		}
	}()
	r.x.table, r.x.refs = h.Oldest != 0, r.x.refs[:0]
	r.meta = appendHeader(r.meta[:0], h)
	headerCRC := headerChecksum(r.meta)
	if err := r.out.putCopy(r.meta); err != nil {
		return Stats{}, fmt.Errorf("container: writing the header: %w", err)
	}
	if err := r.encodeSections(); err != nil {
		return Stats{}, err
	}
	if err := r.stop(nil); err != nil {
		return Stats{}, err
	}
	if err := r.finish(headerCRC); err != nil {
		return Stats{}, fmt.Errorf("container: writing the index: %w", err)
	}
	return r.stats, nil
}

func (r *encoding) encodeSections() error {
	for i := range r.sections {
		en := &r.x.entries[i]
		en.first = r.chunks
		if r.delta != nil {
			r.delta.enter(i, en)
		}
		var err error
		switch {
		case r.sections[i].Feed != nil:
			err = r.feed(i)
		case r.sections[i].Source != nil:
			err = r.stream(i)
		default:
			err = r.cut(i)
		}
		if err != nil {
			return err
		}
	}
	return r.seal()
}

// cut makes the chunks of a section that is in memory.
func (r *encoding) cut(i int) error {
	s, g := &r.sections[i], r.x.entries[i].geom
	at := memoryCursor{spans: s.Spans}
	for c := range int(g.chunks()) {
		if err := r.chunk(i, c, at.next(g.rawLen(c)), loan{}); err != nil {
			return err
		}
	}
	return nil
}

// chunk takes the next chunk of a section, and gives l back when it is written. Small ones
// go into a batch.
func (r *encoding) chunk(section, c int, m memory, l loan) error {
	s := &r.sections[section]
	store := s.Stores == nil || s.Stores(c)
	r.chunks++
	small := r.isSmall(m.n)
	if b := r.batch; b != nil && (!small || len(b.batch)+m.n > batchSize || len(b.records) == batchChunks) {
		if err := r.seal(); err != nil {
			return err
		}
	}
	j := r.batch
	if j == nil {
		var err error
		if j, err = acquire(r.ctx, r.free); err != nil {
			return err
		}
		j.section = section
	}
	if j.look = (inspection{}); s.Finite {
		j.look = inspection{s, int64(c) * int64(r.opts.ChunkSize)}
	}
	j.hash, j.known = r.delta != nil && m.n >= minReferenced, nil
	if r.delta != nil && store {
		j.known, j.repeats = r.delta.known(c, m.n, r.opts.ChunkSize), r.delta.repeats
	}
	if small && r.delta != nil && r.delta.repeats {
		j.known = nil // repeating it costs more than storing it
	}
	if small {
		r.batch = j
		j.addSmall(m, store)
		r.giveBack(l)
		return nil
	}
	j.single, j.store, j.raw, j.copied, j.loan = true, store, m, store && s.Volatile, l
	if p, ok := m.contiguous(); ok { // m may be that of r.one, which the next chunk takes
		j.raw = j.one.memory(p)
	}
	if err := r.reserve(j); err != nil {
		return err
	}
	return r.submit(j)
}

// isSmall reports whether a chunk of n bytes goes into a batch.
func (r *encoding) isSmall(n int) bool { return n < min(smallChunk, r.opts.ChunkSize) }

// reserve gives a chunk the buffers that it may need. Only this goroutine takes
// buffers and earlier jobs have all of theirs, so it will always get them.
func (r *encoding) reserve(j *job) error {
	if !j.store {
		return nil
	}
	var err error
	compress := r.opts.Compression != Off
	if _, ok := j.raw.contiguous(); j.copied || !ok && (compress || j.raw.fragmented()) {
		if j.gather, err = acquire(r.ctx, r.spare); err != nil {
			return err
		}
	}
	if compress {
		j.pack, err = acquire(r.ctx, r.spare)
	}
	return err
}

// seal hands on the batch.
func (r *encoding) seal() error {
	j := r.batch
	if j == nil {
		return nil
	}
	r.batch = nil
	return r.submit(j)
}

// submit hands on a job, or does it at once as long as little was done so far.
func (r *encoding) submit(j *job) error {
	r.alone += j.raw.n + len(j.batch)
	if r.pipe == nil && r.opts.Workers > 1 && r.alone > parallelSize {
		r.start()
	}
	if r.pipe != nil {
		r.pipe.send(j)
		return nil
	}
	if j.single {
		j.run(r.packers[0], r.opts.Compression)
	}
	return r.emit(j)
}

// emit writes a finished job and releases it. It is called in order.
func (r *encoding) emit(j *job) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if j.bad != nil {
		return j.bad
	}
	if err := r.write(j); err != nil {
		return fmt.Errorf("container: writing section %q: %w", r.sections[j.section].Key, err)
	}
	r.giveBack(j.loan)
	if j.gather != nil {
		r.spare <- j.gather
	}
	if j.pack != nil {
		r.spare <- j.pack
	}
	j.reset()
	r.free <- j
	return nil
}

func (r *encoding) write(j *job) error {
	if j.single && j.records[0].here() {
		if j.raw.n >= alignedChunk && r.stored != j.section {
			if err := r.out.align(); err != nil {
				return err
			}
		}
		r.stored = j.section
	}
	base := r.out.off
	for i, rec := range j.records {
		if rec.here() {
			rec.offset += base
			raw := int64(rec.stored)
			if rec.kind == kindLZ4 {
				r.stats.Compressed++
				raw = int64(j.raw.n)
			}
			r.stats.Chunks++
			r.stats.RawBytes += raw
		}
		r.x.chunks = append(r.x.chunks, rec)
		if r.delta != nil {
			r.delta.add(&rec, j.hashes[i])
		}
	}
	switch {
	case !j.single:
		return r.out.put(j.batch)
	case j.from > 0:
		return r.out.repeat(j.from, int(j.records[0].stored))
	}
	for p := range j.stored.pieces() {
		if err := r.out.put(p); err != nil {
			return err
		}
	}
	return nil
}

// finish writes footer and trailer.
func (r *encoding) finish(headerCRC uint32) error {
	if r.delta != nil {
		r.delta.finish(&r.x)
	}
	b := r.x.append(r.meta[:0])
	t := trailer{
		footerOffset: r.out.off,
		footerLen:    int64(len(b)),
		fileSize:     r.out.off + int64(len(b)) + trailerSize,
		footerCRC:    checksum(b),
		headerCRC:    headerCRC,
	}
	r.meta = t.append(b)
	if r.delta != nil {
		r.delta.seal(t.headerCRC, t.footerCRC)
	}
	r.stats.FileBytes = t.fileSize
	if err := r.out.putCopy(r.meta); err != nil {
		return err
	}
	return r.out.flush()
}
