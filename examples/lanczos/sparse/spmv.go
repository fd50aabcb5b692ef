package sparse

// MulRows computes y[i] = row lo+i of m times x for all i of y.
//
// The rows of a lattice have very few entries, so the work per row counts, not
// only that per entry. Indexing the whole arrays is about twice as fast here
// as cutting a slice per row. In the cases for short rows one comparison with
// the length lets the compiler drop the others; the checks of x stay, and cost
// nothing beside the wait for memory.
func (m *CSR) MulRows(y, x []float64, lo int) {
	cols, vals := m.Cols, m.Vals
	k := int(m.RowPtr[lo])
	ends := m.RowPtr[lo+1:][:len(y)]
	for i := range y {
		end := int(ends[i])
		switch {
		case end-k == 3 && k >= 0 && k+2 < len(cols) && k+2 < len(vals):
			y[i] = vals[k]*x[cols[k]] + vals[k+1]*x[cols[k+1]] + vals[k+2]*x[cols[k+2]]
			k += 3
		case end-k == 4 && k >= 0 && k+3 < len(cols) && k+3 < len(vals):
			y[i] = vals[k]*x[cols[k]] + vals[k+1]*x[cols[k+1]] +
				vals[k+2]*x[cols[k+2]] + vals[k+3]*x[cols[k+3]]
			k += 4
		default:
			sum := 0.0
			for ; k < end; k++ {
				sum += vals[k] * x[cols[k]]
			}
			y[i] = sum
		}
	}
}
