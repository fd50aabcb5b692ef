package checkpoint

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/checkpoint/internal/trigger"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
)

// Trigger says when a version is due: see WithTriggers.
type Trigger struct {
	rules trigger.Rules
	err   error
}

// Every makes a version due after each iteration that n divides, as the frequency of
// UpdateAndWrite does; at least 1.
func Every(n int) Trigger {
	return Trigger{trigger.Rules{Every: []int{n}}, wrongTrigger(n >= 1, "Every(%d): it must be at least 1", n)}
}

// EveryTime makes a version due at the first call at which d has passed since the last one
// was begun, or since the program went on from one; more than 0.
func EveryTime(d time.Duration) Trigger {
	return Trigger{trigger.Rules{Time: d}, wrongTrigger(d > 0, "EveryTime(%v): it must be more than 0", d)}
}

// Auto makes a version due as often as loses the least, by what versions have cost in this run and how often
// the job fails (Young 1974, Daly 2006). With levels, each gets its own interval, from what it costs beside
// those below it; the periods of CRAFT_LEVELS count only until that is known. How often the job fails is
// learned, unless MTBF says it: from the records of earlier runs and from what the job has recovered from. As long
// as no failure was seen, no more than CRAFT_MAX_LOSS is at risk. The log says what was decided, and from what.
func Auto(opts ...AutoOption) Trigger {
	t := Trigger{rules: trigger.Rules{Auto: true}}
	for i, o := range opts {
		if o == nil {
			t.err = wrongTrigger(false, "option %d of Auto is nil", i+1)
			continue
		}
		o(&t)
	}
	return t
}

// AutoOption changes one setting of Auto.
type AutoOption func(*Trigger)

// MTBF says the mean time between failures of the whole job: that of a node divided by their
// number, say; more than 0.
func MTBF(d time.Duration) AutoOption {
	return func(t *Trigger) {
		t.rules.MTBF, t.err = d, cmp.Or(t.err, wrongTrigger(d > 0, "MTBF(%v): it must be more than 0", d))
	}
}

func wrongTrigger(allowed bool, format string, args ...any) error {
	if allowed {
		return nil
	}
	return fmt.Errorf("%w: WithTriggers: %s", ErrArgument, fmt.Sprintf(format, args...))
}

// WithTriggers says when UpdateAndWrite writes, beside its own frequency: as soon as one of them makes a version due.
// CRAFT_CP_FREQ takes the place of all of them, and of the frequencies.
func WithTriggers(triggers ...Trigger) Option {
	return func(o *options) {
		for i, t := range triggers {
			if t.rules.None() && t.err == nil {
				t.err = wrongTrigger(false, "trigger %d of %d is the zero Trigger", i+1, len(triggers))
			}
			o.triggers, o.triggerErr = o.triggers.With(t.rules), cmp.Or(o.triggerErr, t.err)
		}
	}
}

// triggerConfig holds the settings of the triggers.
type triggerConfig struct {
	Frequency string        `envconfig:"CP_FREQ"`
	MaxLoss   time.Duration `envconfig:"MAX_LOSS" default:"1h"`

	triggers   trigger.Rules // of the program
	triggerErr error
}

func (c triggerConfig) validate() error {
	_, err := c.rules()
	return cmp.Or(c.triggerErr, err, allowIf(c.MaxLoss >= time.Second, "CRAFT_MAX_LOSS", c.MaxLoss))
}

// rules are those that count. Of the program's own only the rate of failures is left where the
// environment has others.
func (c triggerConfig) rules() (trigger.Rules, error) {
	if c.Frequency == "" {
		return c.triggers, nil
	}
	r, err := trigger.Parse(c.Frequency)
	if err != nil {
		return r, fmt.Errorf("%w: %w", env.Invalid("CRAFT_CP_FREQ", c.Frequency), err)
	}
	if r.Auto {
		r.MTBF = c.triggers.MTBF
	}
	return r, nil
}

// triggerSettings are those that must be the same on all ranks.
func triggerSettings(c *core) []setting {
	rules, _ := c.opt.rules() // validated
	loss := ""
	if rules.Auto {
		loss = c.opt.MaxLoss.String()
	}
	return []setting{{"CRAFT_CP_FREQ or WithTriggers", rules.String()}, {"CRAFT_CP_FREQ", c.opt.Frequency}, {"CRAFT_MAX_LOSS", loss}}
}

// toldFrequencies are those of CRAFT_CP_FREQ, and the names of the checkpoints, of which it was said that they count.
var toldFrequencies sync.Map

// tellReplaced says, once for each checkpoint, that the environment wins over the program.
func (c *core) tellReplaced(frequency int) {
	key := [2]string{c.name, c.opt.Frequency}
	if _, told := toldFrequencies.LoadOrStore(key, true); !told {
		c.log.Info("CRAFT_CP_FREQ takes the place of the program's own triggers", "value", c.opt.Frequency,
			"frequency", frequency, "triggers", c.opt.triggers.String())
	}
}

// failuresSurvived are the shares of all failures that a level is taken to survive. They are assumed: that most
// failures take one node at most, and of these nearly half a process alone, is what one can say of clusters in general.
func failuresSurvived(l storage.Losses) float64 {
	switch {
	case l.Machines:
		return 1
	case l.Nodes > 1 || l.OfEachSet > 1:
		return 0.95
	case l.Nodes == 1:
		return 0.85
	}
	return 0.4
}

// flushCost is what a copy to the parallel file system counts as at least, in versions at the lowest level: the program
// hardly waits for it, but all jobs share that.
const flushCost = 10

// leastShare is that of a level which survives nothing more than those below it: somebody has asked for it.
const leastShare = 0.01

// autoLevels are the levels of a policy, the one with the shortest period first, as Auto sees them.
func autoLevels(ordered storage.Policy) (levels []trigger.Level) {
	survived := 0.0
	for i, p := range ordered {
		share := max(failuresSurvived(p.Level.Survives)-survived, leastShare)
		if i == len(ordered)-1 {
			share = max(1-survived, leastShare) // there is nothing better
		}
		survived = max(survived, failuresSurvived(p.Level.Survives))
		unseen := 1.0 // another copy of the bytes takes as much as the first one
		if p.Level.Tier == storage.TierHome {
			unseen = flushCost
		}
		levels = append(levels, trigger.Level{Name: p.Level.Name, Every: p.Every, Share: share, Unseen: unseen})
	}
	return levels
}
