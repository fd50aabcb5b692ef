// Package timeline keeps when things happened in a job, in a file that all of its processes append
// to: what a process has noted is there also when it is killed. The clocks are those of one machine.
package timeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Variable names the file. Without it nothing is noted.
const Variable = "CRAFT_TEST_TIMELINE"

// What can happen.
const (
	Entered  = "entered"  // all ranks have begun an attempt
	Restored = "restored" // the rank goes on from a version, or begins
	Done     = "done"     // all ranks have done an iteration, whose version is yet to be written
	Killed   = "killed"   // the rank is about to kill itself, or its node
	Closed   = "closed"   // the rank's checkpoint of an attempt is closed
)

// Event is what has happened to a rank.
type Event struct {
	At        time.Time `json:"at"`
	What      string    `json:"what"`
	Epoch     int       `json:"epoch"` // of the attempt
	Rank      int       `json:"rank"`  // the original one
	Iteration int       `json:"iteration"`

	// In this attempt until then, on this rank:
	Written time.Duration `json:"written"` // waited for versions to be written
	Read    time.Duration `json:"read"`    // waited for one to be read
}

// Log is a file to append to. A nil *Log is of a job that nobody watches.
type Log struct{ file *os.File }

// FromEnvironment opens the file that the environment asks for.
func FromEnvironment() (*Log, error) {
	path := os.Getenv(Variable)
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return &Log{f}, nil
}

// Watched reports whether what is added is kept.
func (l *Log) Watched() bool { return l != nil }

// Add notes that something happens now.
func (l *Log) Add(e Event) error {
	if l == nil {
		return nil
	}
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n')) // one call: whole lines, whoever else writes
	}
	return err
}

// Read reads what all processes have noted.
func Read(path string) (events []Event, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		events = append(events, e)
	}
	return events, lines.Err()
}
