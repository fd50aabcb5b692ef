package levels

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/storage"
)

// factor is how many bytes a level keeps for each byte of the values.
func (j *job) factor(level string) float64 {
	set := min(j.sets.Size, j.nodes.count)
	parity := func(m int) float64 { return 1 + float64(m)/float64(max(set-m, 1)) }
	switch level {
	case "partner":
		return 2
	case "xor":
		return parity(1)
	case "rs":
		return parity(j.sets.Parity)
	}
	return 1
}

// loses is how many nodes may be lost at a level.
func (c *config) loses(level string) int {
	switch level {
	case "partner", "xor":
		return 1
	case "rs":
		return c.sets.Parity
	}
	return 0
}

// open makes a checkpoint of which all versions are at one level. Each thing that
// is measured has directories of its own.
func (j *job) open(what, level string, d *data, more ...checkpoint.Option) (*checkpoint.Checkpoint, error) {
	var levels []storage.Period
	if level != "pfs" { // as without levels
		l, err := storage.ParseLevel(level)
		if err != nil {
			return nil, err
		}
		levels = append(levels, l.Every(1))
	}
	opts := append([]checkpoint.Option{
		checkpoint.WithPath(j.home()), checkpoint.WithNodePath(j.nodes.of(what)), checkpoint.WithLevels(levels...),
		checkpoint.WithKeep(1), checkpoint.WithSync(j.sync), checkpoint.WithAsync(j.async), checkpoint.WithLogger(j.log),
	}, more...)
	cp, err := checkpoint.New(strings.ReplaceAll(what, " ", "-"), j.c, opts...)
	if err != nil {
		return nil, err
	}
	if err := cp.Add("values", &d.words); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return cp, cp.Commit()
}
