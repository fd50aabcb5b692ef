package main

import "github.com/spf13/cobra"

func planCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Calculate beforehand what a choice survives and costs",
		Long: `Calculate beforehand what a choice survives and costs. Nothing is run, and nothing
needs to be there.`,
		Example: `  craft plan replica -p 24576 -r 4
  craft plan replica -p 1536 -r 2 --nodes 32 --svg loss.svg`,
		Args: commandsOnly("plan ", "plan replica"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(planReplicaCommand(p))
	return cmd
}
