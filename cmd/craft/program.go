package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// The exit codes.
const (
	exitFine        = 0
	exitFailed      = 1 // something could not be done, or damage was found
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT
)

// usageError marks an error as a mistake on the command line.
type usageError struct{ error }

// program is what the commands work with.
type program struct {
	screen   screen
	stdin    io.Reader
	json     bool // --json: documents in place of tables
	progress bool // stderr is a terminal
	asks     bool // stdin and stderr are one: the user can be asked
	fs       vfs.FS
	lock     filestore.LockConfig // how craft unlock takes a lock
}

func newProgram(stdin, stdout, stderr *os.File) *program {
	p := &program{
		screen: screen{stdout: stdout, stderr: stderr, now: time.Now},
		stdin:  stdin, fs: vfs.OS(), lock: filestore.LockConfig{Patience: 30 * time.Second},
	}
	if fd := int(stdout.Fd()); term.IsTerminal(fd) {
		p.screen.width = 80
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			p.screen.width = w
		}
	}
	p.progress = term.IsTerminal(int(stderr.Fd()))
	p.asks = p.progress && term.IsTerminal(int(stdin.Fd()))
	return p
}

// run executes one command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetOut(&p.screen)
	root.SetErr(p.screen.stderr)
	addHelp(root)
	cmd, err := root.ExecuteContextC(ctx)
	err = cmp.Or(p.screen.err, err)
	var exit *exitError
	var usage *usageError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &exit):
		return exit.code
	case ctx.Err() != nil:
		p.say("interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		p.say("%v", err)
		fmt.Fprintf(p.screen.stderr, "Run \"%s --help\" to see what is possible.\n", cmd.CommandPath())
		return exitUsage
	case !errors.Is(err, errReported):
		p.say("%v", err)
	}
	return exitFailed
}

func (p *program) say(format string, args ...any) { p.screen.say(format, args...) }

// sayBriefly says how the command ends, without waiting for long for a reader: what it
// leaves behind ends with the process.
func (p *program) sayBriefly(format string, args ...any) {
	said := make(chan struct{})
	go func() { p.say(format, args...); close(said) }()
	select {
	case <-said:
	case <-time.After(time.Second):
	}
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "craft",
		Short: "Run jobs that survive failures, look into checkpoint directories",
		Long: `craft runs programs as jobs of ranks that survive failures, and looks into the
checkpoints that programs write with CRAFT for Go: which versions there are, what
is in them, and whether every byte is what was written.

Checkpoints live in <base directory>/<checkpoint>/v-<version>-<attempt>/, one
file for each rank. The base directory is CRAFT_CP_PATH. With storage levels
(CRAFT_LEVELS) most versions are on the nodes, below CRAFT_NODE_PATH: craft node
looks at those of one node.

Exit codes: 0 fine; 1 something failed or damage was found; 2 wrong usage;
130 interrupted.`,
		Example: `  craft run -n 8 --nodes 4 ./lanczos
  craft ls                      what is below $CRAFT_CP_PATH, or here
  craft show cp/lanczos         what the newest complete version holds
  craft verify cp/lanczos       read every byte and check it
  craft checkpoint cp/lanczos   have the job that writes there store a version now
  craft halt cp/lanczos         have it store one, and end
  craft restore cp/lanczos --version 12   the next start goes back to that
  craft node ls                 what checkpoints have on this node
  craft plan replica -p 1536    what data in the memory of ranks survives`,
		Args:          commandsOnly("", topCommands),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && cmd.Flags().NArg() > 0 { // its flags are unknown because it is
			return commandsOnly("", topCommands)(cmd, cmd.Flags().Args())
		}
		return &usageError{err}
	})
	root.AddCommand(p.runCommand(), p.lsCommand(), p.showCommand(), p.verifyCommand(), p.reportCommand(), checkpointCommand(p), haltCommand(p), restoreCommand(p), keepCommand(p), unkeepCommand(p), p.unlockCommand(), p.nodeCommand(), planCommand(p))
	return root
}

const topCommands = "run, ls, show, verify, report, checkpoint, halt, restore, keep, unkeep, unlock, node and plan"

// commandsOnly refuses what is no command of one that does nothing itself.
func commandsOnly(prefix, there string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return &usageError{fmt.Errorf("unknown command %q: there are %s", prefix+args[0], there)}
		}
		return nil
	}
}

// noArguments refuses arguments; hint says what there is in their place.
func noArguments(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return &usageError{fmt.Errorf("%s takes no arguments%s; usage: %s", cmd.CommandPath(), hint, cmd.UseLine())}
		}
		return nil
	}
}

// directories checks the number of arguments, which are directories: one at the most.
func directories(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return &usageError{fmt.Errorf("which directory? usage: %s", cmd.UseLine())}
		case len(args) > 1:
			return &usageError{fmt.Errorf("one directory at a time, not %d; usage: %s", len(args), cmd.UseLine())}
		}
		return nil
	}
}
