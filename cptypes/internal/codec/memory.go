package codec

import "slices"

// Region is memory from one address to another one.
type Region struct{ From, To uintptr }

// Meets reports whether the region overlaps with one of a list.
func (r Region) Meets(list []Region) bool {
	return slices.ContainsFunc(list, func(o Region) bool { return r.From < o.To && o.From < r.To })
}

// Memory is what others refer to, while a value is read. A Custom that reads into memory
// where it is adds that to Filled.
type Memory struct {
	Avoid  []Region // another value's: to be left alone
	Filled []Region // the same, and what this value was read into
}
