package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/nodelocal"
)

func (p *program) nodeCommand() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Look at what checkpoints have on this node, and clean up",
		Long: `Look at what checkpoints have on the storage of this node, and clean up.

With storage levels (CRAFT_LEVELS) each checkpoint has a place on each node: a
directory below CRAFT_NODE_PATH. It stays when the job has ended, for the next one
to restart from. These commands see one node: run them on each (srun, pdsh), where
the parallel file system is mounted. Places of other users are not looked at.`,
		Example: `  craft node ls
  craft node verify
  craft node clean --dry-run
  srun --ntasks-per-node=1 craft node clean --yes`,
		Args: commandsOnly("node ", "node ls, node verify and node clean"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&root, "node-path", "", "the storage of this node (default: CRAFT_NODE_PATH, or "+env.DefaultNodePath()+")")
	where := func() string { return cmp.Or(root, os.Getenv(env.NodePath), env.DefaultNodePath()) }
	cmd.AddCommand(p.nodeLsCommand(where), p.nodeVerifyCommand(where), p.nodeCleanCommand(where))
	return cmd
}

// placesCommand completes a command that gives an overview of the places below a root.
func (p *program) placesCommand(root func() string, printed string, look func(ctx context.Context, root string) (overview, error), cmd *cobra.Command) *cobra.Command {
	cmd.Args = noArguments(" (--node-path names a directory)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		seen, err := look(cmd.Context(), root())
		if err != nil {
			return err
		}
		seen.nothing = noPlaces(p.fs, root())
		return p.present(seen)
	}
	p.jsonFlag(cmd, printed)
	return cmd
}

// nodePlaces lists the places below a root, and below root/node-K: the storage
// of virtual nodes, as craft run --node-path root makes it.
func (p *program) nodePlaces(ctx context.Context, root string) ([]nodelocal.Place, error) {
	list, err := nodelocal.Places(ctx, p.fs, root)
	if err != nil {
		return nil, err
	}
	entries, err := p.fs.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "node-")
		if !ok || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		below, err := nodelocal.Places(ctx, p.fs, filepath.Join(root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrPermission):
			p.say("%s is not looked at: %v", filepath.Join(root, e.Name()), err)
		case err != nil:
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// noPlaces says that there is nothing, and where.
func noPlaces(fsys vfs.FS, root string) string {
	if _, err := fsys.Stat(root); err != nil {
		return fmt.Sprintf("no checkpoint has a place on this node: %v", err)
	}
	return fmt.Sprintf("no checkpoint of this user has a place in %s on this node", root)
}
