package main

import "github.com/spf13/cobra"

// addHelp adds the commands help and completion, which refuse what is no command as the
// others do. Where root prints to is known by then.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error { return helpOn(root, args) }
		case "completion":
			cmd.Args = commandsOnly("completion ", "completion bash, fish, powershell and zsh")
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = noArguments("")
			}
		}
	}
}

// helpOn shows the help of a command; what its name leaves over must be arguments that it
// takes.
func helpOn(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil && len(rest) > 0 {
		err = cmd.ValidateArgs(rest)
	}
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}
