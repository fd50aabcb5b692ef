package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// canonical encodes a fingerprint so that equal problems give equal bytes:
// JSON with the keys of objects in order.
func canonical(problem any) ([]byte, error) {
	if problem == nil {
		return nil, nil
	}
	data, err := json.Marshal(problem)
	if err != nil {
		return nil, fmt.Errorf("%w: the fingerprint cannot be encoded as JSON: %w", ErrArgument, err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%w: fingerprint: %w", ErrArgument, err)
	}
	return json.Marshal(tree)
}

// checkFingerprint compares what is stored with what the program says.
func (cp *Checkpoint) checkFingerprint(stored []byte) error {
	if bytes.Equal(stored, cp.fingerprint) {
		return nil
	}
	return fmt.Errorf("%w: %s: %s; use another directory, run with the stored parameters, or delete this directory",
		ErrFingerprint, cp.dir(), difference(stored, cp.fingerprint))
}

// difference names the fields that differ, old and new.
func difference(stored, mine []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(stored, &a) != nil || json.Unmarshal(mine, &b) != nil {
		return fmt.Sprintf("stored %s, now %s", orNone(stored), orNone(mine))
	}
	keys := make(map[string]bool)
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var fields []string
	for k := range keys {
		if !bytes.Equal(a[k], b[k]) {
			fields = append(fields, fmt.Sprintf("%s: stored %s, now %s", k, orNone(a[k]), orNone(b[k])))
		}
	}
	sort.Strings(fields)
	return strings.Join(fields, "; ")
}

func orNone(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	return string(data)
}
