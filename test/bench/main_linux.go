package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/backends/native"
)

// options are the command line's.
type options struct {
	rounds     int
	quick      bool
	json       string
	plots      string
	draw       bool
	engines    bool
	bin        string
	waive      string
	only       string
	compare    string
	regression float64
	steps      int
	worker     int
	traced     bool
}

const quickRounds = 20

func parse() options {
	var o options
	flag.IntVar(&o.rounds, "n", 200, "rounds of each table")
	flag.BoolVar(&o.quick, "quick", false, fmt.Sprintf("a short run: %d rounds, short blocks", quickRounds))
	flag.StringVar(&o.json, "json", "", "also write the results to this file")
	flag.StringVar(&o.plots, "plots", "", "also draw the results, as SVG files in this directory")
	flag.BoolVar(&o.draw, "draw", false, "measure nothing: draw the results of the file given as argument in the directory of -plots, and print README's section")
	flag.BoolVar(&o.engines, "engines", true, "start docker and podman, with data of their own, and measure them too")
	flag.StringVar(&o.bin, "bin", "bin", "the directory of toolcell and toolcell-init")
	flag.StringVar(&o.waive, "waive", "", "guarantees to run without, separated by commas, for a host that lacks them")
	flag.StringVar(&o.only, "only", "", "the parts to measure, separated by commas, of "+strings.Join(partNames(), ", ")+" (\"\": all)")
	flag.StringVar(&o.compare, "compare", "", "measure nothing: compare this earlier file with the one given as argument")
	flag.Float64Var(&o.regression, "max-regression", 0, "with -compare: exit 1 when a ratio has grown by more than this factor (0: never)")
	flag.IntVar(&o.steps, "steps", 0, "also tell where so many cold calls spend their time, as perf(1) sees it")
	flag.IntVar(&o.worker, "worker", -1, "be a worker with a heap of so many MiB (for this program itself)")
	flag.BoolVar(&o.traced, "traced", false, "make -steps calls to be watched (for this program itself)")
	flag.Parse()
	if o.quick {
		o.rounds = quickRounds
	}
	return o
}

func main() {
	ok, err := run(parse())
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(o options) (bool, error) {
	switch {
	case o.worker >= 0:
		return true, work(o.worker, o.bin, o.waive)
	case o.traced:
		return true, traced(o)
	case o.compare != "":
		if flag.NArg() != 1 {
			return false, errors.New("-compare OLD.json takes one argument, NEW.json")
		}
		return runCompare(os.Stdout, o.compare, flag.Arg(0), o.regression)
	case o.draw:
		if flag.NArg() != 1 || o.plots == "" {
			return false, errors.New("-draw takes one argument, RESULTS.json, and -plots DIR")
		}
		return true, draw(flag.Arg(0), o.plots)
	case flag.NArg() != 0 || o.rounds < 2 || o.regression != 0:
		return false, errors.New("usage: bench [-n ROUNDS | -quick] [-json FILE] [-plots DIR] [-steps N], bench -compare OLD.json [-max-regression F] NEW.json, " +
			"or bench -plots DIR -draw RESULTS.json; ROUNDS is at least 2")
	}
	if err := o.checkParts(); err != nil {
		return false, err
	}
	return true, bench(o)
}

// bench measures everything, printing as it goes.
func bench(o options) (err error) {
	// Orphans become this program's children, so that their CPU time is counted.
	if err := adopt(true); err != nil {
		return err
	}
	b, err := openBackend(o.bin, o.waive, native.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	// An interrupt ends the run after the call that is under way, so that what was started is stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m := newMeasurement(ctx, o, b)
	m.results.Machine.print(os.Stdout)
	if o.engines {
		m.progress.show("starting the engines")
		defer func() { err = errors.Join(err, m.engines.stop()) }()
		if err := m.engines.start(); err != nil {
			return err
		}
	}
	if err := m.all(ctx); err != nil {
		return err
	}
	return o.write(&m.results)
}

func newMeasurement(ctx context.Context, o options, b *native.Backend) *measurement {
	m := &measurement{
		options: o, backend: b, progress: newProgress(ctx), known: map[string][]subject{},
		warm: 10, blockRounds: 2, blockLength: 1500 * time.Millisecond,
	}
	if o.quick {
		m.warm, m.blockRounds, m.blockLength = 3, 1, 500*time.Millisecond
	}
	m.results = results{Time: time.Now().UTC(), Machine: thisMachine(), Versions: versions(), Rounds: o.rounds}
	return m
}

// write writes the files that were asked for.
func (o options) write(r *results) error {
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
			return err
		}
	}
	if o.plots != "" {
		return writePlots(o.plots, r)
	}
	return nil
}
