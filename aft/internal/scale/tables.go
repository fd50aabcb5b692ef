package scale

import (
	"fmt"
	"strconv"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// StartHead and RecoveryHead are the heads of tables that have rows of StartRow and RecoveryRow.
const (
	StartHead = `| nodes | ranks of each | fan-out | start, ms | messages to the root | from it | MB to it | MB from it | its processor, ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |`
	RecoveryHead = `| nodes | ranks of each | policy | fails | fan-out | told, ms | agreed | new world | last rank | messages to the root | from it | MB to it | MB from it | its processor, ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`
)

// StartRow is a row of a table, about the start of a job.
func StartRow(c Config, r Result) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", count(c.Nodes), count(c.Ranks), c.fanOut(), milliseconds(r.Time), r.root())
}

// RecoveryRow is a row of a table, about a recovery.
func RecoveryRow(c Config, r Result) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |", count(c.Nodes), count(c.Ranks), c.Policy, c.Fails, c.fanOut(),
		milliseconds(r.Told), milliseconds(r.Agreed), milliseconds(r.Repaired), milliseconds(r.Time), r.root())
}

func (r Result) root() string {
	return fmt.Sprintf("%s | %s | %s | %s | %s", count(r.In.Messages), count(r.Out.Messages), megabytes(r.In.Bytes), megabytes(r.Out.Bytes), milliseconds(r.Busy))
}

func (c Config) fanOut() string {
	if c.FanOut == 0 {
		return "-"
	}
	return strconv.Itoa(c.FanOut)
}

// count writes thousands as documents do.
func count(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1000), n%1000)
}

func milliseconds(d time.Duration) string { return digits(float64(d) / float64(time.Millisecond)) }
func megabytes(n int) string              { return digits(float64(n) / 1e6) }

// digits writes what is worth reading of a number.
func digits(v float64) string {
	switch {
	case v >= 1000:
		return count(int(v + 0.5))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Policies are those that are simulated: with both all failures are repaired with replacements.
var Policies = []driver.Recovery{driver.NonShrinking, driver.GlobalRestart}
