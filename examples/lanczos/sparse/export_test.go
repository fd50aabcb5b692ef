package sparse

// Rows is the number of rows.
func (m *CSR) Rows() int { return len(m.RowPtr) - 1 }

// Mul computes y = m * x with all members of the team. len(x) must be
// m.Columns, len(y) m.Rows(), and they must not overlap.
func (m *CSR) Mul(t *Team, y, x []float64) {
	t.Do(m.Rows(), func(_, lo, hi int) { m.MulRows(y[lo:hi], x, lo) })
}

// Traffic is the number of bytes that must move between memory and cores for
// one product: every value, column index and row pointer, x once and y once.
func (m *CSR) Traffic() int64 {
	return int64(len(m.Vals))*(8+4) + int64(len(m.RowPtr))*4 + int64(m.Columns)*8 + int64(m.Rows())*8
}

// Members is the number of goroutines that share the work.
func (t *Team) Members() int { return t.members }

// Triad computes a[i] = b[i] + s*c[i], the kernel of the STREAM benchmark that
// measures the bandwidth of a machine's memory. All slices have one length.
func Triad(t *Team, a, b, c []float64, s float64) {
	t.Do(len(a), func(_, lo, hi int) {
		a, b, c := a[lo:hi], b[lo:hi], c[lo:hi]
		for i := range a {
			a[i] = b[i] + s*c[i]
		}
	})
}

// TriadTraffic is what the STREAM benchmark counts for vectors of n elements:
// two are read, one is written.
func TriadTraffic(n int) int64 { return 24 * int64(n) }
