package sparse

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
