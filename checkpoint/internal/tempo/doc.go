// Package tempo measures how fast a program comes to the calls of a checkpoint, and what a version takes: what the end of a job
// needs, and from when it is too late for a version.
package tempo
