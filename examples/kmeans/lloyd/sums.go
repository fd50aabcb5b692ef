package lloyd

// Sums are what an iteration knows of the points: of each cluster their number and
// their sum. It is a list of integers: those of several ranks are added up, one by
// one, in any order.
type Sums struct {
	dim, clusters int
	coordinates   []exact
	spread        exact

	// list has the numbers of points of all clusters, then the coordinates of their
	// sums, then the sum of all squared distances.
	list []int64

	// Of the block that is being added:
	labels  []int32
	squares []float64
	sums    []float64
	counts  []int64
}

// NewSums is for a number of points and their bounds, the same on all ranks.
func NewSums(points int64, clusters int, bounds Bounds) *Sums {
	dim, n := len(bounds)/2, float64(points)
	s := &Sums{
		dim: dim, clusters: clusters,
		spread:  newExact(n * bounds.square()),
		list:    make([]int64, clusters*(1+dim)+1),
		labels:  make([]int32, BlockPoints),
		squares: make([]float64, BlockPoints),
		sums:    make([]float64, clusters*dim),
		counts:  make([]int64, clusters),
	}
	for j := range dim {
		s.coordinates = append(s.coordinates, newExact(n*bounds.largest(j)))
	}
	return s
}

// List is what is to be added up over the ranks.
func (s *Sums) List() []int64 { return s.list }

// Reset makes the sums zero.
func (s *Sums) Reset() { clear(s.list) }

// Add adds the first count points of a block, each to the cluster of its nearest
// centre. The block has BlockPoints points, whatever count is. Centres are in the bounds
// of the points.
func (s *Sums) Add(block []float64, count int, centres []float64) {
	Nearest(s.labels, s.squares, block, centres, s.dim)
	clear(s.sums)
	clear(s.counts)
	square := 0.0
	for i, label := range s.labels[:count] {
		s.counts[label]++
		square += s.squares[i]
		sum := s.sums[int(label)*s.dim : int(label+1)*s.dim]
		for j, x := range block[i*s.dim : (i+1)*s.dim] {
			sum[j] += x
		}
	}
	s.spread.add(&s.list[len(s.list)-1], square)
	for c, n := range s.counts {
		if n == 0 {
			continue
		}
		s.list[c] += n
		for j, e := range s.coordinates {
			e.add(&s.list[s.place(c, j)], s.sums[c*s.dim+j])
		}
	}
}

// place is where the sum of a coordinate of a cluster is in the list.
func (s *Sums) place(cluster, j int) int { return s.clusters + cluster*s.dim + j }

// Move moves the centres to the means of their points. One without points stays.
func (s *Sums) Move(centres []float64) {
	for c, n := range s.Sizes() {
		if n == 0 {
			continue
		}
		for j, e := range s.coordinates {
			centres[c*s.dim+j] = e.value(s.list[s.place(c, j)]) / float64(n)
		}
	}
}

// Sizes are the numbers of points of the clusters.
func (s *Sums) Sizes() []int64 { return s.list[:s.clusters] }

// Inertia is the sum of the squared distances of all points from their centres, which
// the algorithm makes smaller in each iteration.
func (s *Sums) Inertia() float64 { return s.spread.value(s.list[len(s.list)-1]) }
