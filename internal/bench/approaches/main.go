package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "approaches:", err)
		os.Exit(1)
	}
}

// run measures, and writes what was measured until then whatever happens.
func run(ctx context.Context, args []string, out, log io.Writer) (err error) {
	c, err := parse(args, log)
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(c.base, "craft-approaches-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if c.bin == "" {
		c.bin = c.dir
		if err := build(ctx, c.bin, c.programs, log); err != nil {
			return err
		}
	}
	r, err := c.measure(ctx, log)
	if len(r.samples) == 0 {
		return err
	}
	return errors.Join(err, c.write(out, r), c.export(r))
}

// export writes the files that were asked for.
func (c config) export(r results) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{c.csv, func(w io.Writer) error { return c.writeCSV(w, r) }},
		{c.json, func(w io.Writer) error { return c.writeJSON(w, r) }},
		{c.svg, func(w io.Writer) error { return c.draw(w, "svg", r) }},
		{c.png, func(w io.Writer) error { return c.draw(w, "png", r) }},
	} {
		if f.name != "" {
			errs = append(errs, into(f.name, f.write))
		}
	}
	return errors.Join(errs...)
}

func into(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
