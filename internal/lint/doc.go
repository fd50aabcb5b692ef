// Package lint holds tests about the source of the whole project: which
// package may import which (docs/architecture.md), what the top level may
// contain, and that every package explains itself.
package lint
