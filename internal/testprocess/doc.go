// Package testprocess is for tests that start processes, none of which may be left.
package testprocess
