package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// options are the command line's.
type options struct {
	rounds     int
	quick      bool
	json       string
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
	case flag.NArg() != 0 || o.rounds < 2 || o.regression != 0:
		return false, errors.New("usage: bench [-n ROUNDS | -quick] [-json FILE] [-steps N], or bench -compare OLD.json [-max-regression F] NEW.json; ROUNDS is at least 2")
	}
	if err := o.checkParts(); err != nil {
		return false, err
	}
	return true, bench(o)
}

// bench measures everything, printing as it goes.
func bench(o options) (err error) {
	b, err := openBackend(o.bin, o.waive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	m := &measurement{options: o, backend: b, rounds: rounds{n: o.rounds, warm: 10}, blocks: blockPlan{rounds: 4, length: 2 * time.Second}}
	if o.quick {
		m.rounds.warm, m.blocks = 3, blockPlan{rounds: 1, length: time.Second / 2}
	}
	m.results = results{Time: time.Now().UTC(), Machine: thisMachine(), Rounds: o.rounds}
	m.results.Machine.print(os.Stdout)
	if err := m.all(context.Background()); err != nil {
		return err
	}
	if o.json == "" {
		return nil
	}
	return writeJSON(o.json, &m.results)
}
