package stencil

// Diagonal is the diagonal element of each row.
const Diagonal = 27

// kernel multiplies plane by plane. What lies outside of the grid counts as zero.
//
// Where all neighbours have the same coefficient, the sum of the 27 points of a box is that
// of three planes, of three lines of those, and of three points of these: 6 additions in
// place of 26.
type kernel struct {
	nx, ny  int
	columns []float64 // sums of three planes: a line of zeros, ny lines, a line of zeros
	line    []float64 // sums of three lines of columns: zero, nx sums, zero
}

func newKernel(g Grid) kernel {
	return kernel{nx: g.NX, ny: g.NY, columns: make([]float64, g.NX*(g.NY+2)), line: make([]float64, g.NX+2)}
}

// plane multiplies one plane, with the ones below and above it.
func (k *kernel) plane(product, below, here, above []float64) {
	add(k.columns[k.nx:len(k.columns)-k.nx], below, here, above)
	for y := range k.ny {
		from := k.columns[y*k.nx:]
		add(k.line[1:k.nx+1], from, from[k.nx:], from[2*k.nx:])
		row(product[y*k.nx:(y+1)*k.nx], here[y*k.nx:], k.line)
	}
}

// add adds up three slices, each at least as long as sum.
func add(sum, a, b, c []float64) {
	a, b, c = a[:len(sum)], b[:len(sum)], c[:len(sum)] // so that no index is checked in the loop
	for i := range sum {
		sum[i] = a[i] + b[i] + c[i]
	}
}

// row subtracts all of a box from what its middle has. The middle is in box, too.
func row(product, here, line []float64) {
	here, left, box, right := here[:len(product)], line[:len(product)], line[1:len(product)+1], line[2:len(product)+2]
	for i := range product {
		product[i] = (Diagonal+1)*here[i] - (left[i] + box[i] + right[i])
	}
}
