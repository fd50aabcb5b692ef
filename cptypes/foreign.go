package cptypes

import (
	"fmt"
	randv1 "math/rand"
	"math/rand/v2"
	"time"
)

// foreign makes the Value for types of the standard library and of gonum that
// are stored better than a marshaler or a struct would be; nil without an error
// for any other type.
func foreign(v any) (Value, error) {
	switch v := v.(type) {
	case *time.Time:
		return &moment{v}, nil
	case *[]time.Time:
		return &moments{v}, nil
	case *rand.Rand, **rand.Rand:
		return nil, fmt.Errorf("cptypes: %w %T: it does not give its state away; add its source instead, a *rand.PCG or *rand.ChaCha8 of math/rand/v2",
			ErrUnsupported, v)
	case *randv1.Rand, **randv1.Rand:
		return nil, fmt.Errorf("cptypes: %w %T: it does not give its state away; use math/rand/v2 and add the source, a *rand.PCG or *rand.ChaCha8",
			ErrUnsupported, v)
	}
	return gonumOf(v), nil
}
