// Package offheap is memory that the operating system gives and takes back directly: the garbage
// collector neither counts nor scans it, and it is given back at once. Segments are such memory that other
// processes of the host can map.
package offheap
