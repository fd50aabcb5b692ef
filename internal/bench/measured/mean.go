package measured

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Mean is that of a few values, with its 95 % interval by Student's t distribution: Half on
// either side.
type Mean struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"` // 0 of fewer than two values: it is not known
	N    int     `json:"n"`
}

// MeanOf computes it; of no values it is zero.
func MeanOf(values []float64) Mean {
	n := len(values)
	switch n {
	case 0:
		return Mean{}
	case 1:
		return Mean{Mean: values[0], N: 1}
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	quantile := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
	return Mean{Mean: mean, Half: quantile * deviation / math.Sqrt(float64(n)), N: n}
}
