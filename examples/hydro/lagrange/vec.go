package lagrange

import "math"

// Vec is a vector, or a place.
type Vec struct{ X, Y, Z float64 }

func (a Vec) Add(b Vec) Vec             { return Vec{a.X + b.X, a.Y + b.Y, a.Z + b.Z} }
func (a Vec) Sub(b Vec) Vec             { return Vec{a.X - b.X, a.Y - b.Y, a.Z - b.Z} }
func (a Vec) Times(f float64) Vec       { return Vec{a.X * f, a.Y * f, a.Z * f} }
func (a Vec) Dot(b Vec) float64         { return a.X*b.X + a.Y*b.Y + a.Z*b.Z }
func (a Vec) Length() float64           { return math.Sqrt(a.Dot(a)) }
func (a Vec) plus(f float64, b Vec) Vec { return Vec{a.X + f*b.X, a.Y + f*b.Y, a.Z + f*b.Z} }

func (a Vec) cross(b Vec) Vec {
	return Vec{a.Y*b.Z - a.Z*b.Y, a.Z*b.X - a.X*b.Z, a.X*b.Y - a.Y*b.X}
}

func (a Vec) components() [3]float64 { return [3]float64{a.X, a.Y, a.Z} }
