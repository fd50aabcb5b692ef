// Package lint holds tests about the source of the whole project: which
// package may import which (docs/architecture.md), what the top level may
// contain, that every package explains itself, and what programs can name
// (docs/api.txt).
package lint
