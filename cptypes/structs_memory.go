package cptypes

import (
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
)

// fewSpots is how much of a struct is looked at for each version.
const fewSpots = 4096

// locations follows the variable as far as reading goes into what is there: through fields,
// arrays and pointers, to maps and large slices of plain data.
func (v *structured) locations(s *locations) {
	v.codec.Walk(v.p, codec.Walk{Visitor: &structSpots{s, len(s.list) + fewSpots}, Deep: s.deep, Avoid: v.avoid})
}

// avoidThose lets the next read make new memory for what overlaps with others, if it can have it.
func (v *structured) avoidThose(others []location) {
	var mine locations
	v.locations(&mine)
	for _, m := range mine.list {
		if m.base != 0 && hits(others, m.region) {
			v.avoid = append(v.avoid, region{From: m.base, To: m.To})
		}
	}
}

// own lets the next read make new memory for what can be reached on two ways.
func (v *structured) own() {
	var mine locations
	v.locations(&mine)
	mine.sort()
	last := -1
	for i, m := range mine.list {
		if last >= 0 && m.From < mine.list[last].To {
			if m.base == 0 {
				m = mine.list[last]
			}
			if m.base != 0 {
				v.avoid = append(v.avoid, region{From: m.base, To: m.To})
			}
		}
		if last < 0 || mine.list[i].To > mine.list[last].To {
			last = i
		}
	}
}

// structSpots adds what a walk finds.
type structSpots struct {
	*locations
	end int // of the list, if it is to be few
}

var _ codec.Visitor = (*structSpots)(nil)

func (s *structSpots) Memory(p unsafe.Pointer, n int, base uintptr) { s.addBased(p, n, base) }
func (s *structSpots) Slice(_ reflect.Value, each func())           { each() }

func (s *structSpots) Enough() bool {
	enough := s.few && len(s.list) >= s.end
	s.cut = s.cut || enough
	return enough
}

// Custom adds what the variable refers to, as far as that is known. A matrix of gonum is read
// where it is, if it may, and what has Spans always.
func (s *structSpots) Custom(ptr any) bool {
	v := referring(ptr)
	if v == nil {
		return true
	}
	if _, anew := v.(cleared); anew && !s.deep {
		return true
	}
	refers := locations{few: s.few}
	refers.of(v)
	_, moves := v.(matrix)
	variable := reflect.ValueOf(ptr)
	from := uintptr(variable.UnsafePointer())
	to := from + variable.Type().Elem().Size()
	for _, r := range refers.list {
		if r.From >= from && r.To <= to {
			continue // it was added with the variable
		}
		add := location{region: r.region, owner: s.owner}
		if moves {
			add.base = r.From
		}
		s.list = append(s.list, add)
	}
	s.cut = s.cut || refers.cut
	return !refers.cut
}

// referring is the Value of a variable with code of its own; nil if it has no memory yet, and
// so refers to none.
func referring(ptr any) Value {
	if blank(ptr) {
		return nil
	}
	v, err := Of(ptr)
	if err != nil {
		return nil
	}
	return v
}
