package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/storage/container"
)

func roundedBytes(n int64) string { return humanize.IBytes(uint64(n)) }

// ages are as short as the columns of a table.
var ages = []humanize.RelTimeMagnitude{
	{D: time.Minute, Format: "%ds %s", DivBy: time.Second},
	{D: time.Hour, Format: "%dm %s", DivBy: time.Minute},
	{D: 2 * humanize.Day, Format: "%dh %s", DivBy: time.Hour},
	{D: math.MaxInt64, Format: "%dd %s", DivBy: humanize.Day},
}

func age(t, now time.Time) string { return humanize.CustomRelTime(t, now, "ago", "from now", ages) }

// documentTime is a time in a JSON document. It is nil for one that is not known, or that
// such a document cannot hold, like that of a file which a broken clock has stamped.
func documentTime(t time.Time) *time.Time {
	if t = t.UTC(); t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return &t
}

// iteration is nil for a version that was written without one.
func iteration(h container.Header) *int64 {
	if h.Iteration == container.NoIteration {
		return nil
	}
	return &h.Iteration
}

func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// ranges writes ascending numbers as "0-3,8".
func ranges[N int | uint64](list []N) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, list[i])
		if end > i {
			fmt.Fprintf(&b, "-%d", list[end])
		}
		i = end + 1
	}
	return b.String()
}

// short is what tables show of an identity.
func short(id string) string { return id[:min(len(id), 8)] }

func lineageHex(l container.LineageID) string { return hex.EncodeToString(l[:]) }
func attemptHex(a container.AttemptID) string { return hex.EncodeToString(a[:]) }

// digestHex writes digests as text, because JSON numbers lose digits.
func digestHex(d uint64) string { return fmt.Sprintf("%016x", d) }

// printable makes text that comes from files, names and arguments harmless for a terminal:
// one line, of characters and of escapes for everything else. What is not UTF-8 is such,
// too: a terminal may take a byte of it for a control character.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return unquoted.Replace(quoted[1 : len(quoted)-1])
}

// unquoted leaves what a terminal can show as it is, where a quotation escapes it too.
var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// printableLines does the same with a message of one or more lines. All but the first are
// indented, so that none looks like a message of its own.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n       ")
}
