// Package osstring has strings of the operating system, which need not be text: paths,
// arguments, variables.
package osstring

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// String is a string of the operating system. It may hold any bytes. JSON has Unicode alone and
// would replace the others, so a string that is not UTF-8 is encoded as {"bytes": base64}.
type String string

type encodedBytes struct {
	Bytes []byte `json:"bytes"`
}

// From converts a list of strings of package os, and To converts it back.
func From(list []string) []String { return convert[String](list) }

// To converts a list to what package os takes.
func To(list []String) []string { return convert[string](list) }

func convert[To, From ~string](list []From) []To {
	out := make([]To, len(list))
	for i, s := range list {
		out[i] = To(s)
	}
	return out
}

// MarshalJSON keeps every byte.
func (s String) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(s)) {
		return json.Marshal(string(s))
	}
	return json.Marshal(encodedBytes{[]byte(s)})
}

// UnmarshalJSON takes both forms.
func (s *String) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("{")) {
		return json.Unmarshal(text, (*string)(s))
	}
	var raw encodedBytes
	err := json.Unmarshal(text, &raw)
	*s = String(raw.Bytes)
	return err
}
