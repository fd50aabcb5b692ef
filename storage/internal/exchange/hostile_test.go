package exchange

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// bent is a communicator that changes messages of this rank on their way.
type bent struct {
	driver.Comm
	bend func(tag comm.Tag, data []byte) []byte
}

func (b bent) Isend(dst, tag int, data []byte) driver.Request {
	return b.Comm.Isend(dst, tag, b.bend(comm.Tag(tag), data))
}

// dup is another communicator of the ranks of a trial, whose messages are bent.
func (r *trial) dup(bend func(tag comm.Tag, data []byte) []byte) *comm.Comm {
	d, err := r.f.Driver().(driver.Maker).Split(0, int(r.c.Rank()), driver.Options{}).Wait(r.ctx)
	require.NoError(r.t, err)
	return comm.New(bent{d, bend})
}

// flipOnce flips a bit of the n-th message of at least so many bytes.
func flipOnce(n int32, least int) func(comm.Tag, []byte) []byte {
	var left atomic.Int32
	left.Store(n)
	return func(tag comm.Tag, data []byte) []byte {
		if tag < tagStreams || len(data) < least || left.Add(-1) != 0 {
			return data
		}
		data = bytes.Clone(data)
		data[len(data)/3] ^= 4
		return data
	}
}

// TestDamageOnTheWay is found in both directions, and nothing is stored.
func TestDamageOnTheWay(t *testing.T) {
	there := &memory{}
	data := random(1, 20*large.Block)
	there.put("lent", data)
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		// In place of the service that play has made, which is idle.
		n := []int32{3, 1}[r.c.Rank()] // what is fetched ahead would be asked for once more
		s := New(r.ctx, r.dup(flipOnce(n, inlineSize)), r.memory, large)
		defer func() {
			require.NoError(r.t, s.Close(r.ctx))
			require.Zero(r.t, s.buffers.out)
		}()
		if r.c.Rank() == 1 {
			return
		}
		r.s, s = s, r.s
		require.ErrorIs(r.t, r.store(1, "part", data, 1000), ErrTransfer)
		require.NoError(r.t, r.store(1, "again", data, 1000))
		read, err := r.s.Open(r.ctx, 1, "lent")
		require.NoError(r.t, err)
		got := make([]byte, len(data))
		_, err = read.ReadAt(got, 0)
		require.ErrorIs(r.t, err, ErrTransfer)
		_, err = read.ReadAt(got, 0) // each question has its own answer
		require.NoError(r.t, err)
		require.Equal(r.t, data, got)
		require.NoError(r.t, read.Close())
		r.s, s = s, r.s
	})
	_, stored := there.get("part")
	require.False(t, stored)
}

// TestDamagedAnswers: whichever answer of the other rank is damaged, the stream
// ends, its user is told, and the next one is as good as new.
func TestDamagedAnswers(t *testing.T) {
	full := &memory{write: func(string, int) error { return syscall.ENOSPC }}
	var other *Service // of rank 1
	play(t, 2, small, func(r *trial) {
		for victim := range int32(3) {
			for _, handler := range []*memory{r.memory, full} {
				var left atomic.Int32 // two streams may answer at once
				left.Store(victim)
				c := r.dup(func(tag comm.Tag, data []byte) []byte {
					if r.c.Rank() == 0 || tag < tagStreams {
						return data
					}
					if left.Add(-1) == -1 {
						data = bytes.Clone(data)
						data[len(data)-1] ^= 1
					}
					return data
				})
				s := New(r.ctx, c, handler, small)
				if r.c.Rank() == 1 {
					other = s
				}
				require.NoError(r.t, comm.Barrier(r.ctx, c))
				if r.c.Rank() == 0 {
					r.s, s = s, r.s
					err := r.store(1, "part", make([]byte, 10*small.Block), 1000)
					if handler != full && victim < 2 {
						require.ErrorIs(r.t, err, ErrTransfer)
						require.NoError(r.t, r.store(1, "another", make([]byte, 10*small.Block), 1000))
					}
					if handler == full {
						require.Error(r.t, err)
					}
					require.Eventually(r.t, func() bool { // before Close ends all
						other.mu.Lock()
						defer other.mu.Unlock()
						return len(other.peers[0].served) == 0
					}, patience, time.Millisecond)
					r.s, s = s, r.s
				}
				require.NoError(r.t, s.Close(r.ctx))
				require.Zero(r.t, s.buffers.out)
			}
		}
	})
}

// TestSenselessRequests: nonsense is not served, and others are.
func TestSenselessRequests(t *testing.T) {
	play(t, 2, small, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		say := func(tag comm.Tag, data []byte) {
			require.NoError(r.t, comm.Send(r.ctx, r.c, 1, tag, data))
		}
		say(tagRequest, nil)
		say(tagRequest, []byte("CXR1 and nothing more"))
		say(tagRequest, make([]byte, 3*maxRequest)) // truncated
		say(tagRequest, request{kind: requestCreate, id: 1, n: 1, name: "x"}.encode())
		say(tagRequest, request{kind: requestCreate, id: 1, n: minBlock, name: strings.Repeat("x", MaxName+1)}.encode())
		say(tagRequest, request{kind: requestRead, id: 1, n: 1, off: -1, name: "x"}.encode())
		say(tagRequest, request{kind: requestRead, id: 1, name: "x"}.encode())
		say(tagRequest, request{kind: requestCancel, id: 77}.encode())
		require.NoError(r.t, r.store(1, "part", make([]byte, 100), 10))

		// More streams than allowed, and one of them twice.
		const first = 500
		answers := make([][]byte, small.Streams+2)
		var requests []comm.Request
		for i := range answers {
			answers[i] = make([]byte, noteSize)
			requests = append(requests, comm.Irecv(r.c, 1, replyTag(uint32(first+i)), answers[i]))
		}
		for i := range answers {
			say(tagRequest, request{kind: requestCreate, id: uint32(first + i), n: minBlock, name: "x"}.encode())
			if i == 0 {
				say(tagRequest, request{kind: requestCreate, id: first, n: minBlock, name: "x"}.encode())
			}
		}
		for i, request := range requests {
			st, err := request.Wait(r.ctx)
			require.NoError(r.t, err)
			f, err := parseFrame(answers[i][:st.Bytes], uint32(first+i), 0)
			require.NoError(r.t, err)
			if i < small.Streams {
				require.Equal(r.t, frameAccept, f.kind)
				continue
			}
			require.Equal(r.t, frameFinal, f.kind)
			require.ErrorIs(r.t, parseError(f.payload), ErrBusy)
		}
		// Frames that make no sense end each of the streams, with nothing stored.
		for i, nonsense := range [][]byte{
			make([]byte, 3*minBlock), nil,
			sealed([]byte("x"), frameBlock, first+2, 0), sealed([]byte("x"), frameData, first+3, 7),
		} {
			id := uint32(first + i)
			say(frameTag(id), nonsense)
			n, _, err := comm.Recv(r.ctx, r.c, 1, replyTag(id), answers[i])
			require.NoError(r.t, err)
			f, err := parseFrame(answers[i][:n], id, 1)
			require.NoError(r.t, err)
			require.Equal(r.t, frameFail, f.kind)
			require.ErrorIs(r.t, parseError(f.payload), ErrTransfer)
			say(frameTag(id), sealed(nil, frameEnd, id, 1))
			n, _, err = comm.Recv(r.ctx, r.c, 1, replyTag(id), answers[i])
			require.NoError(r.t, err)
			f, err = parseFrame(answers[i][:n], id, 2)
			require.NoError(r.t, err)
			require.Equal(r.t, frameFinal, f.kind)
		}
		_, stored := r.memories[1].get("x")
		require.False(r.t, stored)
		require.NoError(r.t, r.store(1, "part", make([]byte, 100), 10))
	})
}

// TestDamagedRequests: each of the most requests that a service has under way is answered, also
// if all of them have been damaged.
func TestDamagedRequests(t *testing.T) {
	play(t, 2, small, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		answers := make([]comm.Request, small.Streams*(1+small.Window))
		for i := range answers {
			answers[i] = comm.Irecv(r.c, 1, answerTag(uint32(i+1)), make([]byte, noteSize))
		}
		for range answers {
			require.NoError(r.t, comm.Send(r.ctx, r.c, 1, tagRequest, []byte("damaged")))
		}
		for _, answer := range answers {
			_, err := answer.Wait(r.ctx)
			require.NoError(r.t, err)
		}
	})
}

// TestFewerStreamsThere: what another rank does not serve, because it has been made for fewer streams, it refuses, also
// when all is asked for at once.
func TestFewerStreamsThere(t *testing.T) {
	there := &memory{}
	there.put("lent", random(4, 8*minBlock))
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		c, err := r.c.Dup(r.ctx)
		require.NoError(r.t, err)
		opts := []Options{{Block: minBlock, Window: 8, Streams: 64}, {Block: minBlock, Window: 1, Streams: 1}}[r.c.Rank()]
		s := New(r.ctx, c, r.memory, opts)
		r.s, s = s, r.s
		var work sync.WaitGroup
		for range 64 * (1 - int(r.c.Rank())) {
			work.Go(func() {
				if err := r.store(1, "part", make([]byte, 10), 10); !errors.Is(err, ErrBusy) {
					assert.NoError(r.t, err)
				}
			})
			work.Go(func() {
				read, err := r.s.Open(r.ctx, 1, "lent")
				if err == nil {
					_, err = read.ReadAt(make([]byte, 8*minBlock), 0)
					assert.NoError(r.t, read.Close())
				}
				if !errors.Is(err, ErrBusy) {
					assert.NoError(r.t, err)
				}
			})
		}
		work.Wait()
		require.NoError(r.t, r.s.Close(r.ctx))
		require.Zero(r.t, r.s.buffers.out)
		r.s = s
	})
}

// TestSenselessRanges of a part that is lent.
func TestSenselessRanges(t *testing.T) {
	there := &memory{}
	there.put("lent", make([]byte, 1000))
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		read, err := r.s.Open(r.ctx, 1, "lent")
		require.NoError(r.t, err)
		defer read.Close()
		open := read.(*reader)
		for _, x := range []struct {
			off int64
			n   int
		}{{0, 1001}, {1000, 1}, {999, 2}, {1 << 62, 1}, {0, minBlock + 1}} {
			f, err := open.ask(request{kind: requestRead, off: x.off, n: x.n}, nil)
			require.NoError(r.t, err)
			require.ErrorIs(r.t, open.await(f), ErrRequest, "%v", x)
			open.release(f, x.n)
		}
		_, err = read.ReadAt(make([]byte, 1000), 0)
		require.NoError(r.t, err)
	})
}

func TestRequestsOfThisRank(t *testing.T) {
	play(t, 2, small, func(r *trial) {
		for _, name := range []string{"", strings.Repeat("x", MaxName+1)} {
			_, err := r.s.Create(r.ctx, 1, name)
			require.ErrorIs(r.t, err, ErrRequest)
		}
		for _, to := range []comm.Rank{-1, 2} {
			_, err := r.s.Open(r.ctx, to, "part")
			require.ErrorIs(r.t, err, comm.ErrRank)
		}
		_, err := r.s.Open(ended, 1, "part")
		require.ErrorIs(r.t, err, ended.Err())
		longest := strings.Repeat("x", MaxName)
		require.NoError(r.t, r.store(1-r.c.Rank(), longest, []byte("x"), 1))
	})
}

func TestOptions(t *testing.T) {
	o := Options{}.complete()
	require.Equal(t, []int{512 << 10, 8, 8}, []int{o.Block, o.Window, o.Streams})
	o = Options{Block: 1, Window: -1, Streams: 1 << 20}.complete()
	require.Equal(t, []int{minBlock, 1, maxStreams}, []int{o.Block, o.Window, o.Streams})
}

// TestDifferentBlocks: the smaller one counts.
func TestDifferentBlocks(t *testing.T) {
	play(t, 2, small, func(r *trial) {
		c, err := r.c.Dup(r.ctx)
		require.NoError(r.t, err)
		opts := Options{Block: minBlock << (4 * r.c.Rank())}
		s := New(r.ctx, c, r.memory, opts)
		r.s, s = s, r.s
		data := random(3, 10*minBlock<<4+1)
		to := 1 - r.c.Rank()
		require.NoError(r.t, r.store(to, "part", data, 1000))
		read, err := r.s.Open(r.ctx, to, "part")
		require.NoError(r.t, err)
		checkReads(r.t, read, data, minBlock)
		require.NoError(r.t, read.Close())
		require.NoError(r.t, r.s.Close(r.ctx))
		require.Zero(r.t, r.s.buffers.out)
		r.s = s
	})
}

// TestWireFormat: these bytes mean the same in all versions.
func TestWireFormat(t *testing.T) {
	require.Equal(t, "43585232"+"02"+"00"+"0200"+"07000000"+"00001000"+"0000000000000000"+"6162"+"095bb4e3",
		hex.EncodeToString(request{kind: requestOpen, id: 7, n: 1 << 20, name: "ab"}.encode()))
	require.Equal(t, "6162"+"07000000"+"09000000"+"01000000"+"2dd86ceb",
		hex.EncodeToString(sealed([]byte("ab"), frameData, 7, 9)))
	require.EqualValues(t, 1<<4|1<<6, codesOf(errors.Join(syscall.ENOSPC, syscall.EIO)))
	require.Len(t, known, 24, "a new error comes at the end; then change this number")
}

func FuzzRequest(f *testing.F) {
	good := request{kind: requestCreate, id: 3, n: minBlock, name: "part"}.encode()
	f.Add(good[:len(good)-4])
	f.Add(request{kind: requestCancel, id: 1 << 31}.encode())
	f.Add(request{kind: requestRead, id: 4, n: 1, off: 1 << 62, name: "part"}.encode())
	f.Add([]byte{})
	f.Add(make([]byte, 2*maxRequest))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, withChecksum(b)} {
			r, err := parseRequest(b)
			if err != nil {
				require.ErrorIs(t, err, ErrRequest)
				continue
			}
			require.Equal(t, b, r.encode(), "only what encode makes is accepted")
			require.LessOrEqual(t, len(r.name), MaxName)
			require.True(t, r.off >= 0 && r.n >= 0)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(sealed([]byte("data"), frameData, 3, 1)[:16])
	f.Add(sealed(accept{minBlock, 5}.encode(), frameAccept, 3, 1))
	f.Add(sealed(encodeError(ErrBusy), frameFinal, 3, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, withFrameSum(b)} {
			if fr, err := parseFrame(b, 3, 1); err == nil && fr.kind != frameEnd {
				require.Equal(t, b, sealed(fr.payload, fr.kind, 3, 1))
			}
		}
		if a, err := parseAccept(b, 1<<20); err == nil {
			require.Equal(t, b, a.encode())
		}
		if err := parseError(b); err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}

func withChecksum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.Checksum(b, castagnoli()))
}

func withFrameSum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(b), frameSum(b))
}
