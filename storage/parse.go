package storage

import (
	"encoding/hex"
	"regexp"
	"strconv"
	"sync"
)

// Compiled when the first name is read: most processes of a job read none.
var (
	idPattern   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v-([0-9]{6,20})-([0-9a-f]{16})$`) })
	partPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^rank-([0-9]{5,10})-of-([0-9]{5,10})\.craft$`)
	})
)

// ParseID reads the name of a version's directory; only names that ID.String
// would give are accepted.
func ParseID(name string) (id ID, ok bool) {
	m := idPattern().FindStringSubmatch(name)
	if m == nil {
		return id, false
	}
	version, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil || version == 0 {
		return id, false
	}
	id.Version = version
	if _, err := hex.Decode(id.Attempt[:], []byte(m[2])); err != nil {
		return id, false
	}
	return id, id.String() == name
}

// ParsePart reads the name of a part's file.
func ParsePart(name string) (part Part, ok bool) {
	m := partPattern().FindStringSubmatch(name)
	if m == nil {
		return part, false
	}
	rank, err1 := strconv.Atoi(m[1])
	size, err2 := strconv.Atoi(m[2])
	if err1 != nil || err2 != nil || rank >= size {
		return part, false
	}
	part = Part{Rank: rank, Size: size}
	return part, part.String() == name
}
