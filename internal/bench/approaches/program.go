package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is one that is measured.
type program struct {
	name  string
	paper string // what the paper has
	args  []string
	quick string // arguments of a trial
	full  string
}

// known are the programs of the paper: sizes are such that a job takes about two seconds on two cores.
var known = []program{
	{name: "md", paper: "CoMD", full: "-nx 20 -ny 20 -nz 20 -iters 30", quick: "-nx 8 -ny 8 -nz 8 -iters 12"},
	{name: "cg", paper: "HPCCG", full: "-nx 32 -ny 32 -nz 32 -iters 60", quick: "-nx 8 -ny 8 -nz 8 -iters 12"},
	{name: "hydro", paper: "LULESH", full: "-size 12 -iters 40", quick: "-size 4 -iters 12"},
}

// build builds the command craft and the programs.
func build(ctx context.Context, dir string, programs []program, log io.Writer) error {
	args := []string{"build", "-o", dir + string(filepath.Separator), module + "/cmd/craft"}
	for _, p := range programs {
		args = append(args, module+"/examples/"+p.name)
	}
	fmt.Fprintln(log, "go", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build (which needs a directory in this module): %w", err)
	}
	return nil
}

const module = "github.com/craft-go/craft"
