// Command bench prints the table behind SPEC.md: what Coop takes for a sandbox
// and a command, and beside it, interleaved in the same run, a bare floor and
// the tools people compare with. Machines are noisy: the ratios count.
//
//	go run ./test/bench -coop bin/coop [-n 100]
//	go run ./test/bench -coop bin/coop -only terminals [-n 100]
//	go run ./test/bench -coop bin/coop -only workloads [-n 100]
//	go run ./test/bench -coop bin/coop -bases [-n 100]
//	go run ./test/bench -coop bin/coop -projects 1000000 [-n 20]
//	go run ./test/bench -coop bin/coop -images [-n 100] [-large BYTES]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	coop := flag.String("coop", "bin/coop", "the binary to measure")
	n := flag.Int("n", 100, "interleaved rounds")
	projects := flag.Int("projects", 0, "instead: create and diff on projects of up to this many files")
	images := flag.Bool("images", false, "instead: images")
	large := flag.Int64("large", 1<<30, "with -images: size of the large image")
	only := flag.String("only", "", "one part: sandboxes, terminals or workloads")
	bases := flag.Bool("bases", false, "instead: bases")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	switch {
	case *images:
		err = runImages(ctx, *coop, *n, *large)
	case *bases:
		err = runBases(ctx, *coop, *n)
	default:
		err = run(ctx, *coop, *n, *projects, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, n, large int, only string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "coop-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fl, err := startFloor(dir)
	if err != nil {
		return err
	}
	defer fl.stop()
	box, err := startCoop(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer box.stop()
	describe(bin, n)
	if large > 0 {
		return projects(ctx, box, dir, large, n)
	}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"sandboxes", func() error { return measureAll(ctx, n, fl, box, peers(dir)) }},
		{"sandboxes", func() error { return memory(ctx, box) }},
		{"terminals", func() error { return terminals(ctx, box, n) }},
		{"workloads", func() error { return measureWorkloads(ctx, box, dir, n) }},
	} {
		if only != "" && only != part.name {
			continue
		}
		if err := part.run(); err != nil {
			return err
		}
	}
	return nil
}

// measureAll takes one sample of everything per round, so that whatever else
// the machine does falls on all alike.
func measureAll(ctx context.Context, n int, fl *floor, box *coop, others []peer) error {
	t := newTable()
	for range n {
		if err := fl.sample(t); err != nil {
			return err
		}
		if err := box.sample(ctx, t); err != nil {
			return err
		}
		for _, p := range others {
			if err := p.sample(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	t.print()
	return nil
}

// installed reports whether a tool can be measured here.
func installed(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
