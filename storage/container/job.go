package container

import "github.com/zeebo/xxh3"

// job is a piece of work between the encoding goroutine, which fills it in, a
// worker, which makes records and stored bytes, and the writer. It is either
// one chunk or a batch of small ones that needs no worker.
type job struct {
	section int  // index of the (first) section
	single  bool // one chunk, no batch; does not change while a worker runs the job
	store   bool
	raw     memory
	hash    bool      // the chunk, or the next of a batch, gets a hash
	known   *location // where it was last; nil: not known
	repeats bool      // what is known is repeated, not referred to
	from    int64     // offset of what is repeated, of a single chunk; 0: it is not
	loan    loan      // of the raw bytes
	gather  *buffer   // for raw bytes that are copied together; nil if they are not
	copied  bool      // the raw bytes are copied before anything else, as they may change
	pack    *buffer   // for compressed bytes; nil without compression

	// batch holds the stored bytes of small chunks, one after the other.
	batch []byte

	// records of the chunks; offsets count from where the job's bytes begin.
	records []chunkRecord
	hashes  []xxh3.Uint128 // of the raw bytes; zero: none
	stored  memory
	one     single
	done    chan struct{}

	look inspection      // of the chunk, or the next of a batch
	bad  *NotFiniteError // what was found first; nil: nothing
}

// Limits of a batch.
const (
	batchSize   = 256 << 10
	batchChunks = 4096
)

func newJob() *job { return &job{done: make(chan struct{}, 1)} }

func (j *job) reset() {
	select {
	case <-j.done:
	default:
	}
	*j = job{batch: j.batch[:0], records: j.records[:0], hashes: j.hashes[:0], done: j.done}
}

// addSmall appends a small chunk to a batch.
func (j *job) addSmall(m memory, store bool) {
	start := len(j.batch)
	for p := range m.pieces() {
		j.batch = append(j.batch, p...)
	}
	var hash xxh3.Uint128
	if store && j.hash {
		hash = xxh3.Hash128(j.batch[start:])
	}
	if j.isKnown(hash) {
		j.batch = j.batch[:start]
		return
	}
	crc := j.checksum(j.one.memory(j.batch[start:]))
	if !store {
		j.batch = j.batch[:start]
		j.records = append(j.records, chunkRecord{kind: kindElsewhere, rawCRC: crc})
		return
	}
	j.records = append(j.records, chunkRecord{offset: int64(start), stored: uint32(m.n), crc: crc, rawCRC: crc})
}

// isKnown takes the hash of the next chunk, zero if it has none, and makes it a
// reference if these are the bytes that were stored already.
func (j *job) isKnown(h xxh3.Uint128) bool {
	j.hashes = append(j.hashes, h)
	if j.known == nil || j.known.hash != h {
		return false
	}
	if j.repeats {
		j.records = append(j.records, j.repeated())
		return true
	}
	j.records = append(j.records, j.known.reference)
	return true
}

// run makes the record and the stored bytes of a chunk.
func (j *job) run(c *compressor, mode Compression) {
	if !j.store {
		j.hashes = append(j.hashes, xxh3.Uint128{})
		j.records = append(j.records, chunkRecord{kind: kindElsewhere, rawCRC: j.checksum(j.raw)})
		return
	}
	if j.copied {
		j.raw = j.one.memory(j.raw.gather(j.gather.grow(j.raw.n)))
	} else if j.raw.fragmented() {
		j.gatherRaw()
	}
	var hash xxh3.Uint128
	if j.hash {
		hash = c.hash(j.raw)
	}
	if j.isKnown(hash) {
		return
	}
	crc := j.checksum(j.raw)
	if j.pack != nil && (mode == Always || c.pays(j.raw)) {
		if p, ok := c.compress(mode, j.gatherRaw(), j.pack.grow(j.raw.n)); ok {
			j.stored = j.one.memory(p)
			j.records = append(j.records, chunkRecord{stored: uint32(len(p)), kind: kindLZ4, crc: checksum(p), rawCRC: crc})
			return
		}
	}
	j.stored = j.raw
	j.records = append(j.records, chunkRecord{stored: uint32(j.raw.n), crc: crc, rawCRC: crc})
}

// checksum returns that of raw bytes, and looks at them if that is asked for.
func (j *job) checksum(m memory) uint32 {
	crc, bad := j.look.checksum(m)
	if j.bad == nil {
		j.bad = bad
	}
	return crc
}

// gatherRaw returns the raw bytes in one piece, copying them if they are not.
func (j *job) gatherRaw() []byte {
	p, ok := j.raw.contiguous()
	if !ok {
		p = j.raw.gather(j.gather.grow(j.raw.n))
		j.raw = j.one.memory(p)
	}
	return p
}

// buffer is memory that is kept from version to version.
type buffer struct{ b []byte }

// grow returns n bytes with unspecified contents.
func (b *buffer) grow(n int) []byte {
	if cap(b.b) < n {
		b.b = make([]byte, n)
	}
	return b.b[:n]
}
