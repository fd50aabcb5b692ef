package control

import (
	"strings"

	"github.com/craft-go/craft/aft/comm/driver"
)

// How much of the errors of zones the root keeps for replacements: all zones, and the texts
// of the last ones.
const (
	maxZoneErrors    = 1 << 16
	maxZoneTexts     = 256
	maxZoneErrorText = 2 << 10
)

const zoneTextDropped = "a body had an error, whose text is not kept any more"

// addZoneError notes that a zone has ended with an error: whoever takes part later is to go
// the way that the others have gone because of it.
func addZoneError(list []driver.ZoneError, zone int, o driver.Outcome) []driver.ZoneError {
	text := o.Err
	if len(text) > maxZoneErrorText {
		text = strings.ToValidUTF8(text[:maxZoneErrorText], "") + " ..."
	}
	if n := len(list); n > 0 {
		if last := &list[n-1]; last.Last == zone-1 && last.Err == text && last.Rank == o.ErrRank {
			last.Last = zone
			return list
		}
	}
	if len(list) == maxZoneErrors {
		return list
	}
	if n := len(list) - maxZoneTexts; n >= 0 {
		list[n].Err = zoneTextDropped
	}
	return append(list, driver.ZoneError{First: zone, Last: zone, Err: text, Rank: o.ErrRank})
}
