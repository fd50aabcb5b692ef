package cptypestest

import (
	"math/rand/v2"
	"reflect"

	"github.com/craft-go/craft/cptypes"
)

// Case is a type under test. T is the type of the variable that a program
// registers by its address.
type Case[T any] struct {
	// New makes a variable; nil: new(T).
	New func() *T
	// Fill gives the variable random contents, also of random size if it may
	// grow and shrink. It must not depend on anything but rng.
	Fill func(v *T, rng *rand.Rand)
	// Equal compares two variables; nil: reflect.DeepEqual.
	Equal func(a, b *T) bool
	// Value is what the program gives to Add for the variable, for example
	// cptypes.Partitioned(v, 0, 5, 10); nil: the variable's address.
	Value func(v *T) any
	// ToEOF says that the type takes whatever its reader holds, so that it
	// cannot find out by itself that something is missing or left over.
	ToEOF bool
}

func (c Case[T]) withDefaults() Case[T] {
	if c.New == nil {
		c.New = func() *T { return new(T) }
	}
	if c.Equal == nil {
		c.Equal = func(a, b *T) bool { return reflect.DeepEqual(a, b) }
	}
	if c.Value == nil {
		c.Value = func(v *T) any { return v }
	}
	return c
}

// subject is a variable and its Value.
type subject[T any] struct {
	v     *T
	value cptypes.Value
}
