package cptypes

// described is what every replicated value can do; resizable, what those can
// do whose memory can be resized.
type (
	described interface {
		Value
		Describer
		extents() []Extent
		bare() Value
	}
	resizable interface {
		described
		Resizer
	}
)

// Which of the abilities that a wrapper need not change a value has.
const (
	canUpdate = 1 << iota
	canSize
	canSpan
	canResize
)

// withAbilities gives v the optional interfaces that the value in it has, and
// no other: a caller that asks for an ability must not find an empty one. Go
// has no shorter way to say it than one type for each combination.
func withAbilities(v replicated) Value {
	u, z, s, has := abilities(v.Value)
	switch r := (replicatedResizer{v}); has {
	case canUpdate:
		return struct {
			described
			Updater
		}{v, u}
	case canSize:
		return struct {
			described
			Sizer
		}{v, z}
	case canUpdate | canSize:
		return struct {
			described
			Updater
			Sizer
		}{v, u, z}
	case canSpan:
		return struct {
			described
			Spanner
		}{v, s}
	case canUpdate | canSpan:
		return struct {
			described
			Updater
			Spanner
		}{v, u, s}
	case canSize | canSpan:
		return struct {
			described
			Sizer
			Spanner
		}{v, z, s}
	case canUpdate | canSize | canSpan:
		return struct {
			described
			Updater
			Sizer
			Spanner
		}{v, u, z, s}
	case canResize:
		return r
	case canUpdate | canResize:
		return struct {
			resizable
			Updater
		}{r, u}
	case canSize | canResize:
		return struct {
			resizable
			Sizer
		}{r, z}
	case canUpdate | canSize | canResize:
		return struct {
			resizable
			Updater
			Sizer
		}{r, u, z}
	case canSpan | canResize:
		return struct {
			resizable
			Spanner
		}{r, s}
	case canUpdate | canSpan | canResize:
		return struct {
			resizable
			Updater
			Spanner
		}{r, u, s}
	case canSize | canSpan | canResize:
		return struct {
			resizable
			Sizer
			Spanner
		}{r, z, s}
	case canUpdate | canSize | canSpan | canResize:
		return struct {
			resizable
			Updater
			Sizer
			Spanner
		}{r, u, z, s}
	}
	return v
}

func abilities(v Value) (u Updater, z Sizer, s Spanner, has int) {
	set := func(ok bool, bit int) {
		if ok {
			has |= bit
		}
	}
	var ok bool
	u, ok = v.(Updater)
	set(ok, canUpdate)
	z, ok = v.(Sizer)
	set(ok, canSize)
	s, ok = v.(Spanner)
	set(ok, canSpan)
	_, ok = v.(Resizer)
	set(ok, canResize)
	return u, z, s, has
}
