package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/bench/machine"
	"github.com/craft-go/craft/internal/bench/measured"
)

func main() {
	// The commands have process groups of their own: nobody else ends them.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := compare(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(log)
	rounds := flags.Int("rounds", 15, "how often each measurement is made")
	quiet := flags.Duration("quiet", 10*time.Second, "how long to wait for a quiet machine before each")
	most := flags.Duration("timeout", 5*time.Minute, "how long one command may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rounds < 1 {
		return fmt.Errorf("one plan is needed, and at least one round: compare [-rounds N] PLAN")
	}
	f, err := os.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	p, err := parsePlan(f)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	r, err := run(ctx, p, *rounds, *quiet, *most, log)
	return errors.Join(r.write(out, p), err) // what was measured until then counts
}

// write prints the tables.
func (r results) write(w io.Writer, p plan) error {
	busy := measured.IntervalOf(r.busy)
	text := fmt.Sprintf("%s; %s; others used %.0f %% (%.0f to %.0f) of it.\n\n", time.Now().Format(time.DateOnly), machine.Describe(), busy.Median, busy.Low, busy.High)
	text += "| measurement | ms | rounds |\n| --- | --- | --- |\n"
	for _, m := range p.measurements {
		if times := r.times[m.name]; len(times) > 0 {
			i := measured.IntervalOf(times)
			text += fmt.Sprintf("| %s | %s (%s to %s) | %d |\n", m.name, digits(i.Median), digits(i.Low), digits(i.High), len(times))
		}
	}
	if len(p.ratios) > 0 {
		text += "\n| ratio | | of |\n| --- | --- | --- |\n"
	}
	for _, of := range p.ratios {
		if i := r.ratio(of); i.Median > 0 {
			text += fmt.Sprintf("| %s | %.2f (%.2f to %.2f) | %s / %s |\n", of.name, i.Median, i.Low, i.High, of.one, of.other)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// digits writes three of them, or all before the point.
func digits(ms float64) string {
	if ms >= 100 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.3g", ms)
}
