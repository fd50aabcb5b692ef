package dataset

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
)

// Source has points. Its methods may be called concurrently.
type Source interface {
	// Size is how many points there are, and how many coordinates each has.
	Size() (points int64, dim int)
	// Read fills to with whole points, beginning with point first.
	Read(first int64, to []float64) error
	// Fingerprint tells other points apart, also if there are as many: a file that has changed, or is another one. It is not
	// negative.
	Fingerprint() int64
}

// ErrFormat is returned for files that do not have points as they should be.
var ErrFormat = errors.New("not a table of points")

// Largest is the absolute value that a coordinate may have at most: sums of squares
// must be numbers, too.
const Largest = 1e140

// Open returns what is in a file, whose name tells the format.
func Open(path string) (Source, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy":
		return openNPY(path)
	case ".csv":
		return openCSV(path)
	}
	return nil, fmt.Errorf("%s: %w: the name must end in .npy or .csv", path, ErrFormat)
}

// checkSize refuses what has no points.
func checkSize(points int64, dim int) error {
	if points < 1 || dim < 1 {
		return fmt.Errorf("%w: %d points with %d coordinates", ErrFormat, points, dim)
	}
	return nil
}

// checkRange refuses coordinates that cannot be worked with.
func checkRange(x float64) error {
	if !(math.Abs(x) <= Largest) {
		return fmt.Errorf("%w: a coordinate is %v, allowed are -%g to %g", ErrFormat, x, Largest, Largest)
	}
	return nil
}
