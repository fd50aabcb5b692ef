package codec

import "reflect"

// Custom is how a type with code of its own is stored: as a number of bytes that only this
// code understands.
type Custom struct {
	Name   string // stored: names the interface and the type
	Put    func(ptr any) ([]byte, error)
	Get    func(ptr any, b []byte, m *Memory) error // must not keep b
	Refers bool                                     // it may tell the memory that it refers to: Visitor.Custom
}

// Customs finds the Custom of a type, nil if it has no code of its own.
type Customs func(t reflect.Type) (*Custom, error)
