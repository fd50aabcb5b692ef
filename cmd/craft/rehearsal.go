package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/demand"
)

// How a rehearsed program can end as it should.
const (
	takeSignals = "have the program call checkpoint.OnSignal(ctx) first in main, and end with os.Exit(checkpoint.ExitCode(err))"
	takeLess    = "have it call UpdateAndWrite more often or write less, or give it more time and say so in CRAFT_GRACE"
)

// rehearsalReport tells how a job has ended that was asked to (--end-after), and what it has stored.
func rehearsalReport(r launch.Rehearsal, code int, stored string) string {
	if !r.Asked {
		return fmt.Sprintf("rehearsal: the job had ended with exit code %d before it was asked to (--end-after %v)", code, r.After)
	}
	text := fmt.Sprintf("rehearsal: the job was asked to end after %v, with %v for it (--grace)\n", r.After, r.Grace)
	took := fmt.Sprintf("it had ended %v later, with exit code %d: ", r.Took.Round(10*time.Millisecond), code)
	advice := takeLess
	if !r.Taken {
		advice = takeSignals
	}
	switch {
	case len(r.Killed) > 0:
		return text + fmt.Sprintf("%s had not ended then, and %s killed, as a batch system does: what was computed since the last version is lost\n%s\n%s",
			ranksOf(r.Killed), was(r.Killed), stored, advice)
	case code == requeueCode():
		return text + took + "started again it goes on; docs/ending.md has what batch systems need to do that by themselves\n" + stored
	case code == exitFine:
		return text + took + fmt.Sprintf("it was done; otherwise it has to end with another one: %s", takeSignals)
	case !r.Taken:
		return text + took + "it does not take SIGTERM for a request, and what was computed since the last version is lost\n" + stored + "\n" + advice
	}
	return text + took + fmt.Sprintf("that is not %d, with which it would be started again; see above why\n%s", requeueCode(), stored)
}

// requeueCode is the exit code of programs that are to be started again.
func requeueCode() int {
	code, _ := strconv.Atoi(os.Getenv("CRAFT_REQUEUE_CODE")) // the launcher has looked at it
	return cmp.Or(code, demand.ExitRequeue)
}

// ranksOf names some ranks.
func ranksOf(list []int) string {
	const most = 16
	var names []string
	for _, r := range list[:min(len(list), most)] {
		names = append(names, strconv.Itoa(r))
	}
	text := strings.Join(names, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(list) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

func was(list []int) string {
	if len(list) == 1 {
		return "was"
	}
	return "were"
}
