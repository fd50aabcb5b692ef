// Package dataset is where the points of k-means come from: made from a seed, or read
// from a file, NumPy's (.npy) or comma-separated (.csv). A source gives any range of the
// points, and the same ones each time, so that those that were lost can be had again.
package dataset
