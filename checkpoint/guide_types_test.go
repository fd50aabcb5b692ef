package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

// 4. Types of your own.

type particle struct {
	ID       int64
	Position [3]float64
	Tag      string
	Charge   float64 `craft:"charge,was=Q"` // was called Q in older versions
	cache    []int   `craft:"-"`            // neither stored nor changed
}

// Lattice stores itself: 8 bytes of temperature, then one byte for each spin.
type Lattice struct {
	Temperature float64
	Spins       []int8
}

func (l *Lattice) WriteTo(w io.Writer) (int64, error) {
	var buf bytes.Buffer
	_ = binary.Write(&buf, binary.LittleEndian, l.Temperature) // a Buffer does not fail
	_ = binary.Write(&buf, binary.LittleEndian, l.Spins)
	return buf.WriteTo(w)
}

func (l *Lattice) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r) // r ends where WriteTo has ended
	if err != nil {
		return int64(len(data)), err
	}
	if len(data) < 8 {
		return int64(len(data)), errors.New("lattice: too short")
	}
	in := bytes.NewReader(data)
	l.Spins = make([]int8, len(data)-8)
	err = errors.Join(binary.Read(in, binary.LittleEndian, &l.Temperature), binary.Read(in, binary.LittleEndian, l.Spins))
	return int64(len(data)), err
}

// deviceArray is a type of somebody else's: memory of an accelerator.
type deviceArray struct{ onDevice []float32 }

func (d *deviceArray) fetch(into []float32) { copy(into, d.onDevice) }
func (d *deviceArray) load(from []float32)  { copy(d.onDevice, from) }

// storedDevice is a wrapper that fetches before it is stored.
type storedDevice struct {
	device *deviceArray
	host   []float32
}

func (s *storedDevice) Update() error {
	s.device.fetch(s.host)
	return nil
}

func (s *storedDevice) WriteTo(w io.Writer) (int64, error) {
	return int64(4 * len(s.host)), binary.Write(w, binary.LittleEndian, s.host)
}

func (s *storedDevice) ReadFrom(r io.Reader) (int64, error) {
	if err := binary.Read(r, binary.LittleEndian, s.host); err != nil {
		return 0, err
	}
	s.device.load(s.host)
	return int64(4 * len(s.host)), nil
}

// registerDevice makes Add take a *deviceArray as it is.
func registerDevice() error {
	return cptypes.Register(func(d *deviceArray) cptypes.Value {
		return &storedDevice{device: d, host: make([]float32, len(d.onDevice))}
	})
}

func addOwn(cp *checkpoint.Checkpoint, lattice *Lattice, device, other *deviceArray) error {
	cp.Add("lattice", lattice)                                                 // 1: the type itself
	cp.Add("device", &storedDevice{device: device, host: make([]float32, 64)}) // 2: a wrapper
	cp.Add("other", other)                                                     // 3: by its adapter
	return cp.Commit()
}

// registered is once per process, however often the test is run.
var registered = sync.OnceValue(registerDevice)

func TestGuideOwnTypes(t *testing.T) {
	require.NoError(t, registered())
	dir := t.TempDir()
	newDevice := func(x float32) *deviceArray {
		d := &deviceArray{make([]float32, 64)}
		for i := range d.onDevice {
			d.onDevice[i] = x
		}
		return d
	}
	lattice, device, other := &Lattice{2.5, []int8{1, -1, 1}}, newDevice(1), newDevice(2)
	open := func() *checkpoint.Checkpoint {
		cp, err := checkpoint.New("own", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet), checkpoint.WithAsync(checkpoint.AsyncCopy))
		require.NoError(t, err)
		require.NoError(t, addOwn(cp, lattice, device, other))
		return cp
	}
	cp := open()
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	want := *lattice
	lattice, device, other = new(Lattice), newDevice(0), newDevice(0)
	cp = open()
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	require.Equal(t, want, *lattice)
	require.EqualValues(t, 1, device.onDevice[63])
	require.EqualValues(t, 2, other.onDevice[63])
}

// What embeds a type that stores itself has fields of its own.
func TestGuideEmbedded(t *testing.T) {
	type state struct {
		Lattice
		Energy float64
	}
	dir := t.TempDir()
	open := func(value any) *checkpoint.Checkpoint {
		cp, err := checkpoint.New("embedded", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("s", value), cp.Commit()))
		return cp
	}
	in, out := state{Lattice{2.5, []int8{1, -1}}, 42}, state{}
	cp := open(&in)
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	cp = open(&out)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	require.Equal(t, in, out)
}

// A struct is read by a later type of other fields.
func TestGuideFields(t *testing.T) {
	type particleOfOld struct {
		Gone     string
		Q        float64
		ID       int32
		Position [3]float64
	}
	dir := t.TempDir()
	open := func(value any) *checkpoint.Checkpoint {
		cp, err := checkpoint.New("fields", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("p", value), cp.Commit()))
		return cp
	}
	cp := open(&particleOfOld{"gone", 1.5, 7, [3]float64{1, 2, 3}})
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	p := particle{Tag: "kept", cache: []int{1}}
	cp = open(&p)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	require.Equal(t, particle{ID: 7, Position: [3]float64{1, 2, 3}, Tag: "kept", Charge: 1.5, cache: []int{1}}, p)

	cp, err := checkpoint.New("unexported", nil, checkpoint.WithPath(dir))
	require.NoError(t, err)
	require.ErrorContains(t, cp.Add("s", &struct{ hidden int }{}), "hidden")
}

func TestLattice(t *testing.T) {
	cptypestest.Run(t, cptypestest.Case[Lattice]{
		Fill: func(l *Lattice, rng *rand.Rand) {
			l.Temperature = rng.Float64()
			l.Spins = make([]int8, rng.IntN(100))
			for i := range l.Spins {
				l.Spins[i] = int8(rng.IntN(2)*2 - 1)
			}
		},
		ToEOF: true, // ReadFrom takes all there is
	})
}
