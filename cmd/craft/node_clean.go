package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeCleaning is the JSON document of craft node clean.
type nodeCleaning struct {
	Path   osstring.String `json:"path"`
	DryRun bool            `json:"dry_run"`
	Places []cleanedPlace  `json:"places"`
}

type cleanedPlace struct {
	nodedPlace

	// Action is "removed", "would remove", "kept" or "failed".
	Action string `json:"action"`
	Why    string `json:"why"`
}

// cleaning is what the user wants to be cleaned.
type cleaning struct {
	olderThan           time.Duration
	unseen, dryRun, yes bool
}

func (p *program) nodeCleanCommand(root func() string) *cobra.Command {
	var c cleaning
	look := func(ctx context.Context, root string) (overview, error) {
		switch {
		case c.olderThan < 0:
			return overview{}, &usageError{fmt.Errorf("--older-than %v: it must not be negative", c.olderThan)}
		case c.yes && c.dryRun:
			return overview{}, &usageError{errors.New("--yes and --dry-run exclude each other")}
		}
		return p.nodeClean(ctx, root, c)
	}
	cmd := p.placesCommand(root, "a table", look, &cobra.Command{
		Use:   "clean",
		Short: "Delete what deleted checkpoints have left on this node",
		Long: `Delete what deleted checkpoints have left on this node: places whose checkpoint's
directory on the parallel file system is gone. craft node ls shows which these are.

What a checkpoint that is there has on this node is never deleted, nor anything
whose directory is locked by a job that may be alive or that a job uses, nor what another user, node
or program has made. If nothing there tells what became of it (the directory above
is missing too, or empty; it is empty itself, a link that leads nowhere, or has no
NODES.json), its file system may not be mounted here; if there is another checkpoint by
now (its identity is in NODES.json), that may have been made while it was not. Such places
are only deleted with --unseen; of the second kind those without a version always.

On a terminal it asks first. --yes deletes without asking; without a terminal one of
--yes and --dry-run is needed.`,
		Example: `  craft node clean --dry-run
  craft node clean --older-than 168h --yes`,
	})
	flags := cmd.Flags()
	flags.DurationVar(&c.olderThan, "older-than", 0, "only places that have not been used for that long (36h, 90m)")
	flags.BoolVar(&c.unseen, "unseen", false, "also places of which nothing tells what became of the checkpoint")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only show what would be deleted")
	flags.BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) nodeClean(ctx context.Context, root string, c cleaning) (seen overview, err error) {
	list, err := p.describePlaces(ctx, root)
	if err != nil {
		return seen, err
	}
	result := nodeCleaning{Path: osstring.String(root), DryRun: c.dryRun, Places: make([]cleanedPlace, len(list))}
	var prunable []*cleanedPlace
	for i, n := range list {
		remove, why := p.prunable(n, c)
		result.Places[i] = cleanedPlace{n, "kept", why}
		if remove {
			result.Places[i].Action = "would remove"
			prunable = append(prunable, &result.Places[i])
		}
	}
	if len(prunable) > 0 && !c.dryRun {
		if err := p.confirm(ctx, prunable, c); err != nil {
			return seen, err
		}
		for _, n := range prunable {
			if ctx.Err() != nil {
				return seen, ctx.Err()
			}
			n.Action, n.Why = p.removeIfPrunable(ctx, n.nodedPlace, c)
		}
	}
	failed := slices.ContainsFunc(result.Places, func(n cleanedPlace) bool { return n.Action == "failed" })
	return overview{document: result, empty: len(list) == 0, failed: failed}, nil
}

// prunable decides whether a place may go, and says why or why not.
func (p *program) prunable(n nodedPlace, c cleaning) (remove bool, why string) {
	switch n.State {
	case homeGone, homeRemoved:
	case homeUnseen, homeReplaced:
		if !c.unseen && (n.State != homeReplaced || n.Versions > 0) {
			return false, n.Reason + "; if you are sure that the checkpoint is gone: --unseen"
		}
	case homeCurrent:
		return false, "its checkpoint is there: " + string(n.Home)
	default:
		return false, n.Reason
	}
	if c.olderThan > 0 {
		if n.Used == nil {
			return false, "it is not known when it was last used (--older-than)"
		}
		if p.screen.now().Sub(*n.Used) < c.olderThan {
			return false, fmt.Sprintf("it was used %s (--older-than %v)", age(*n.Used, p.screen.now()), c.olderThan)
		}
	}
	return true, n.Reason
}

// confirm asks whether to delete.
func (p *program) confirm(ctx context.Context, prunable []*cleanedPlace, c cleaning) error {
	if c.yes {
		return nil
	}
	if !p.asks {
		return &usageError{fmt.Errorf("%d places would be deleted, and there is no terminal to ask on: say --yes, or --dry-run to see them", len(prunable))}
	}
	bytes := int64(0)
	for _, n := range prunable {
		bytes += n.Bytes + n.Spare
		fmt.Fprintf(p.screen.stderr, "%s  checkpoint %s, %s: %s\n", printable(string(n.Dir)), printable(n.Checkpoint), roundedBytes(n.Bytes+n.Spare), printable(n.Why))
	}
	fmt.Fprintf(p.screen.stderr, "Delete %d places with %s? [y/N] ", len(prunable), roundedBytes(bytes))
	answers := make(chan string, 1)
	go func() { // it ends with the process if nobody answers
		line, _ := bufio.NewReader(p.stdin).ReadString('\n')
		answers <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-answers:
		if a := strings.ToLower(strings.TrimSpace(line)); a == "y" || a == "yes" {
			return nil
		}
		return errors.New("nothing was deleted")
	}
}

// removeIfPrunable deletes what was found to be prunable, if it still is: a job may have begun
// meanwhile.
func (p *program) removeIfPrunable(ctx context.Context, n nodedPlace, c cleaning) (action, why string) {
	owner, err := nodelocal.ReadOwner(p.fs, string(n.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "kept", "it is gone already"
	}
	if err != nil {
		return "failed", err.Error()
	}
	if n.State != homeRemoved {
		now := nodelocal.Place{Dir: string(n.Dir), Owner: owner}
		now.Err = now.Count(ctx, p.fs)
		if remove, why := p.prunable(describePlace(p.fs, now), c); !remove {
			return "kept", why
		}
	}
	err = nodelocal.RemovePlace(p.fs, string(n.Dir))
	var refused *nodelocal.PlaceError
	switch {
	case errors.As(err, &refused):
		return "kept", err.Error()
	case err != nil:
		return "failed", err.Error()
	}
	return "removed", n.Reason
}

func (r nodeCleaning) print(s *screen) {
	t := newTable(left("ACTION"), left("CHECKPOINT"), right("SIZE"), left("DIRECTORY"), left("WHY"))
	for _, n := range r.Places {
		t.add(n.Action, n.Checkpoint, s.size(n.Bytes+n.Spare), string(n.Dir), n.Why)
	}
	s.show(t, 0) // never cut: this is what the user has to know
}
