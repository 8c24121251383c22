package main

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// The rows, in the order they are printed.
const (
	floorSandbox = "floor: bare program, same namespaces and mounts"
	coopFirst    = "coop: create to first command's exit"
	coopCreate   = "coop: create alone"
	coopDelete   = "coop: delete"
	coopCycle    = "coop: create, exec, delete"
	floorExec    = "floor: fork and exec on the host"
	coopExec     = "coop: exec round trip"
	coopHTTP     = "coop: empty HTTP round trip"
	coopRun      = "coop run -- true, the whole command"
)

// bounds are the promises of SPEC.md: a row, what it is compared with, and the
// largest ratio.
type bound struct {
	row, base string
	less      string // subtracted from row: shown separately
	most      float64
}

func bounds() []bound {
	return []bound{
		{row: coopFirst, base: floorSandbox, most: 2},
		{row: coopExec, base: floorExec, less: coopHTTP, most: 1.5},
	}
}

// table collects samples by row.
type table struct {
	order []string
	rows  map[string][]time.Duration
}

func newTable() *table { return &table{rows: map[string][]time.Duration{}} }

func (t *table) add(row string, d time.Duration) {
	if t.rows[row] == nil {
		t.order = append(t.order, row)
	}
	t.rows[row] = append(t.rows[row], d)
}

func (t *table) time(row string, f func() error) error {
	begin := time.Now()
	err := f()
	t.add(row, time.Since(begin))
	return err
}

func (t *table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tp50 ms\tp95 ms\tratio to floor")
	for _, row := range t.order {
		s := sorted(t.rows[row])
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\n", row, ms(at(s, 50)), ms(at(s, 95)),
			float64(at(s, 50))/float64(at(sorted(t.rows[base(row)]), 50)))
	}
	w.Flush()
	fmt.Println()
	for _, b := range bounds() {
		low, mid, high := t.ratio(b)
		verdict := "holds"
		if low > b.most {
			verdict = "BROKEN"
		}
		fmt.Printf("promise: %s ≤ %.1f × %s: ratio %.2f, 95%% interval %.2f to %.2f: %s\n", b.row, b.most, b.base, mid, low, high, verdict)
	}
}

func base(row string) string {
	if row == floorExec || row == coopExec || row == coopHTTP {
		return floorExec
	}
	return floorSandbox
}

// ratio is that of the medians, with a bootstrap interval over the pairs.
func (t *table) ratio(b bound) (low, mid, high float64) {
	row, floor := t.rows[b.row], t.rows[b.base]
	one := func(pick func(int) int) float64 {
		x, y := make([]time.Duration, len(row)), make([]time.Duration, len(row))
		for i := range row {
			k := pick(i)
			x[i], y[i] = row[k], floor[k]
			if b.less != "" {
				x[i] -= t.rows[b.less][k]
			}
		}
		return float64(at(sorted(x), 50)) / float64(at(sorted(y), 50))
	}
	rng := rand.New(rand.NewSource(1)) // the same data gives the same interval
	var all []float64
	for range 1000 {
		all = append(all, one(func(int) int { return rng.Intn(len(row)) }))
	}
	slices.Sort(all)
	return all[25], one(func(i int) int { return i }), all[974]
}

func sorted(s []time.Duration) []time.Duration {
	c := slices.Clone(s)
	slices.Sort(c)
	return c
}

func at(s []time.Duration, percent int) time.Duration { return s[(len(s)-1)*percent/100] }

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
