package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/stepwise"
)

// approach is a way to survive a failure.
type approach struct {
	name        string
	args        []string // of craft run
	environment []string
}

const (
	redeploy      = "CR"
	stepByStep    = "ULFM"
	nonShrinking  = "NON-SHRINKING"
	globalRestart = "GLOBAL-RESTART"
)

var approaches = []approach{
	{name: redeploy, args: []string{"--recovery", "ABORT", "--restarts", "1"}},
	{name: stepByStep, args: []string{"--recovery", "NON-SHRINKING"}, environment: []string{stepwise.Variable + "=1"}},
	{name: nonShrinking, args: []string{"--recovery", "NON-SHRINKING"}},
	{name: globalRestart, args: []string{"--recovery", "GLOBAL-RESTART"}},
}

// storage is where versions are kept.
type storage string

const (
	file   storage = "file"
	memory storage = "memory" // of the rank itself and of another one
)

// levels is the value of CRAFT_LEVELS.
func (s storage) levels() string {
	if s == memory {
		return "process:1"
	}
	return ""
}

// failure is what happens to a job.
type failure string

const (
	none    failure = "none"
	process failure = "process"
	node    failure = "node"
)

// title is for people.
func (f failure) title() string {
	if f == none {
		return "no failure"
	}
	return string(f) + " failure"
}

var failures = []failure{none, process, node}

// pairing says which approach keeps its versions where.
type pairing string

const (
	paper  pairing = "paper" // Reinit++, Table 2
	onFile pairing = "file"
)

var pairings = []pairing{paper, onFile}

// storage is that of an approach for a failure. Jobs that meet none keep what would survive the failure
// of a process: of these the paper shows the time of the application.
func (p pairing) storage(a approach, f failure) storage {
	if p == paper && a.name != redeploy && f != node {
		return memory
	}
	return file
}

// title is a heading.
func (p pairing) title() string {
	if p == paper {
		return "Checkpoints as in the paper (its Table 2)"
	}
	return "Checkpoints in files for all"
}

// choose takes those things of a list that are named, with commas between, in the order of the list.
func choose[T any](flag, text string, all []T, name func(T) string) (chosen []T, err error) {
	var known []string
	asked := strings.Split(text, ",")
	for _, one := range all {
		known = append(known, name(one))
		if slices.Contains(asked, name(one)) {
			chosen = append(chosen, one)
		}
	}
	for _, one := range asked {
		if !slices.Contains(known, one) {
			return nil, fmt.Errorf("-%s: there is no %q; known are %s", flag, one, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
