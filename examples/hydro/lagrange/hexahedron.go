package lagrange

// Corners is the number of corners of an element. Corner 4a+2b+c, with a, b and c 0 or 1,
// is that of node (i+a, j+b, k+c) of element (i,j,k).
const Corners = 8

// faces are the corners of each face, in an order that turns to the right for who looks
// along the normal that leads out of the element.
var faces = [6][4]int{
	{0, 1, 3, 2}, {4, 6, 7, 5},
	{0, 4, 5, 1}, {2, 3, 7, 6},
	{0, 2, 6, 4}, {1, 5, 7, 3},
}

// hexahedron has the places of an element's corners.
type hexahedron [Corners]Vec

// gradient is the derivative of the volume for each corner's place, and the volume, which
// is a third of the sum of places times gradients, as it is of the third degree.
//
// The faces are bilinear surfaces. The volume between one with corners a, b, c, d and the
// first corner is the mean of what the two ways to cut it into triangles give, a sum of
// determinants of three corners each.
func (h *hexahedron) gradient() (g hexahedron, volume float64) {
	at := *h
	for c := range at {
		at[c] = h[c].Sub(h[0]) // small numbers have small errors
	}
	for f := range faces {
		i, j, k, l := faces[f][0], faces[f][1], faces[f][2], faces[f][3]
		a, b, c, d := at[i], at[j], at[k], at[l]
		ab, bc, cd, da := a.cross(b), b.cross(c), c.cross(d), d.cross(a)
		ac, bd := a.cross(c), b.cross(d)
		g[i] = g[i].Add(bc.Add(cd).Add(bd))
		g[j] = g[j].Add(cd.Add(da).Sub(ac))
		g[k] = g[k].Add(da.Add(ab).Sub(bd))
		g[l] = g[l].Add(ab.Add(bc).Add(ac))
	}
	for c := range g {
		g[c] = g[c].Times(1. / 12)
		volume += g[c].Dot(at[c])
	}
	return g, volume / 3
}

// axes are the differences between the means of opposite faces, in three directions.
func (h *hexahedron) axes() [3]Vec {
	half := func(a, b, c, d int) Vec { return h[a].Add(h[b]).Add(h[c].Add(h[d])) }
	return [3]Vec{
		half(4, 5, 6, 7).Sub(half(0, 1, 2, 3)).Times(0.25),
		half(2, 3, 6, 7).Sub(half(0, 1, 4, 5)).Times(0.25),
		half(1, 3, 5, 7).Sub(half(0, 2, 4, 6)).Times(0.25),
	}
}
