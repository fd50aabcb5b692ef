package storage

import (
	"fmt"
	"strings"
)

// Level is a way in which a version is kept, in the order of what it survives.
type Level uint8

// The levels. Those between Local and RS keep the parts on the nodes and differ
// in what else is there; a part that is flushed is on the nodes and on the
// parallel file system until it is no longer kept on the nodes.
const (
	// Captured: only in the memory of the program.
	Captured Level = iota
	// Local: on the node of each rank. It survives the death of processes.
	Local
	// Partner: and a copy on another node. It survives the loss of any one node.
	Partner
	// XOR: and a parity over sets of ranks. It survives the loss of one node of
	// each set.
	XOR
	// RS: and several parities over sets (Reed-Solomon). It survives the loss of
	// as many nodes of each set.
	RS
	// PFS: on the parallel file system. It survives the loss of all nodes.
	PFS
)

var levelNames = [...]string{"captured", "local", "partner", "xor", "rs", "pfs"}

// String gives "captured", "local", "partner", "xor", "rs" or "pfs".
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// OnNodes reports whether the level keeps the parts on the nodes.
func (l Level) OnNodes() bool { return l >= Local && l <= RS }

// ParseLevel reads what String gives, in any case; Captured is no level to ask
// for.
func ParseLevel(s string) (Level, error) {
	for l := Local; l <= PFS; l++ {
		if strings.EqualFold(s, l.String()) {
			return l, nil
		}
	}
	return Captured, fmt.Errorf("level %q: allowed are %s", s, strings.Join(levelNames[Local:], ", "))
}

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(text []byte) (err error) {
	if string(text) == Captured.String() {
		*l = Captured
		return nil
	}
	*l, err = ParseLevel(string(text))
	return err
}
