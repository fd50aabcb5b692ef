package storage

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/craft-go/craft/storage/container"
)

// BranchID is the identity of a way back, and of the branch of a computation that begins
// with it. Zero: none.
type BranchID [8]byte

// IsZero reports whether b names no way back.
func (b BranchID) IsZero() bool { return b == BranchID{} }

func (b BranchID) String() string { return hex.EncodeToString(b[:]) }

// MarshalText gives what UnmarshalText reads; "" for none.
func (b BranchID) MarshalText() ([]byte, error) {
	if b.IsZero() {
		return nil, nil
	}
	return []byte(b.String()), nil
}

// UnmarshalText reads 16 hexadecimal digits, or "".
func (b *BranchID) UnmarshalText(text []byte) error {
	*b = BranchID{}
	if len(text) == 0 {
		return nil
	}
	if n, err := hex.Decode(b[:], slices.Clone(text[:min(len(text), 2*len(b))])); err != nil || len(text) != 2*n || n != len(b) {
		return fmt.Errorf("identity of a way back %q: it has %d hexadecimal digits", text, 2*len(b))
	}
	return nil
}

// Branch is the way back that the branch of a version began with; zero: none.
func Branch(h container.Header) (id BranchID) {
	if b, ok := h.Fields.Get(container.FieldBranch); ok && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// WithBranch adds the field that Branch reads; zero adds none.
func WithBranch(fields container.Fields, id BranchID) container.Fields {
	if id.IsZero() {
		return fields
	}
	return fields.With(container.FieldBranch, id[:])
}

// Target names the version that somebody wants to go back to, in one of four ways.
type Target struct {
	ID        ID     // by the name of its directory, which no other version has
	Version   uint64 // by its number
	Iteration *int64
	Milestone string // by its label
}

// ParseTarget reads "12", "iteration=30", "milestone=after warm-up", or the name of a version's
// directory.
func ParseTarget(text string) (t Target, err error) {
	switch kind, value, named := strings.Cut(text, "="); {
	case named && kind == "iteration":
		i, err := strconv.ParseInt(value, 10, 64)
		if err != nil || i == container.NoIteration {
			return t, fmt.Errorf("iteration %q: it is a whole number", value)
		}
		t.Iteration = &i
		return t, nil
	case named && kind == "milestone":
		t.Milestone = value
		return t, CheckLabel(value)
	}
	var ok bool
	if t.ID, ok = ParseID(text); ok {
		return t, nil
	}
	if t.Version, err = strconv.ParseUint(text, 10, 64); err != nil || t.Version == 0 {
		return t, fmt.Errorf("version %q: it is a number from 1 on, iteration=K, milestone=LABEL, or the name of the version's directory", text)
	}
	return t, nil
}

// String gives what ParseTarget reads.
func (t Target) String() string {
	switch {
	case t.Iteration != nil:
		return fmt.Sprintf("iteration=%d", *t.Iteration)
	case t.Milestone != "":
		return "milestone=" + t.Milestone
	case !t.ID.IsZero():
		return t.ID.String()
	}
	return strconv.FormatUint(t.Version, 10)
}

// WayBackName is the file of the last way back.
const WayBackName = "WAYBACK.json"

const wayBackFormat = 1

// WayBack is the content of WAYBACK.json: the last way back that a checkpoint was taken. It
// is durable before anything is passed over because of it.
type WayBack struct {
	Format int      `json:"format"`
	Branch BranchID `json:"branch"`
	// To is the version that was gone back to.
	To        string `json:"to"`
	Lineage   string `json:"lineage"`
	Iteration *int64 `json:"iteration"` // of that; null: none
	Asked     string `json:"asked"`     // as Target.String has it
	By        string `json:"by"`        // CRAFT_RESTART_FROM, or a command
	// Variable is the last value of CRAFT_RESTART_FROM that was taken, which is not taken
	// again; "": none was.
	Variable string `json:"variable,omitempty"`
	// FallBack is the job that has gone back by itself last, because it died again and again; "": none has.
	FallBack string `json:"fall_back,omitempty"`
	// Above is the highest number that any version may have had when a start has taken the way
	// back; 0: none has yet.
	Above   uint64     `json:"above"`
	Created time.Time  `json:"created"`
	Taken   *time.Time `json:"taken"`
	// Passed are the branches that ways back have passed over, the last one first, while
	// anything of them is stored.
	Passed []PassedBranch `json:"passed,omitempty"`
}

// PassedBranch is what leads to a version that was the newest before a way back.
type PassedBranch struct {
	Name   string `json:"name"`
	Newest string `json:"newest"`
}

// Target is the version that it leads to.
func (w *WayBack) Target() ID {
	id, _ := ParseID(w.To) // checked when it was read
	return id
}

// Pending reports whether no start has taken it.
func (w *WayBack) Pending() bool { return w.Above == 0 }

// Check returns an error if it is none that this program has written.
func (w *WayBack) Check() error {
	_, version := ParseID(w.To)
	_, lineage := ParseLineage(w.Lineage)
	switch {
	case w.Format != wayBackFormat:
		return fmt.Errorf("format %d, this program knows %d", w.Format, wayBackFormat)
	case w.Branch.IsZero():
		return fmt.Errorf("branch %q is no identity of a way back", w.Branch)
	case !version:
		return fmt.Errorf("to %q is no name of a version", w.To)
	case !lineage && w.Lineage != "":
		return fmt.Errorf("lineage %q is none", w.Lineage)
	}
	return nil
}

// NewWayBack begins one that nobody has taken. before is the one until now; nil: there was none.
func NewWayBack(id BranchID, to ID, asked Target, by string, before *WayBack) *WayBack {
	w := &WayBack{Format: wayBackFormat, Branch: id, To: to.String(), Asked: asked.String(), By: by, Created: time.Now().UTC().Truncate(time.Millisecond)}
	if before != nil {
		w.Variable, w.FallBack, w.Passed = before.Variable, before.FallBack, before.Passed
	}
	return w
}

// Describe enters what the header of its target says.
func (w *WayBack) Describe(h container.Header) {
	w.Lineage = hex.EncodeToString(h.Lineage[:])
	if h.Iteration != container.NoIteration {
		w.Iteration = &h.Iteration
	}
}
