// Command verdict reads what `go test -json` says and prints what a person needs:
// one line a package, the whole output of what failed, and every test that was
// skipped with its reason. Where CI is set a skip is a failure, because a machine
// without an ability must not look like one on which everything was tested. The
// few that cannot be otherwise are named below, with why.
//
//	go test -json ./... | go run ./test/verdict
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// expected skips, by package (below the module) and test.
var expected = map[string]string{
	"internal/image/unpack TestHostileLayers/a_root_that_is_a_file":   "archive/tar cannot write it; the fuzz target reaches it",
	"internal/image/unpack TestHostileLayers/a_link_without_a_target": "archive/tar cannot write it; the fuzz target reaches it",
	"internal/review TestChild":                                       "the process other tests start and kill",
	"internal/workspace TestOpenUnreadable":                           "root reads everything; the story bad_workspace has it as a user",
}

// event is one line of test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	v := &verdict{out: os.Stdout, strict: os.Getenv("CI") != "", said: map[string][]string{}}
	if err := v.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(1)
	}
	if !v.good() {
		os.Exit(1)
	}
}

type verdict struct {
	out     io.Writer
	strict  bool
	said    map[string][]string // output by package and test, until it has passed
	failed  []string
	skipped []string
}

func (v *verdict) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(v.out, lines.Text()) // the go command itself, about a build
			continue
		}
		v.take(e)
	}
	return lines.Err()
}

func (v *verdict) take(e event) {
	pkg := strings.TrimPrefix(e.Package, "github.com/coop-dev/coop/")
	key := strings.TrimSpace(pkg + " " + e.Test)
	switch e.Action {
	case "output", "build-output":
		v.said[key] = append(v.said[key], e.Output)
	case "pass":
		if e.Test == "" {
			fmt.Fprintf(v.out, "ok    %-40s %6.1fs\n", pkg, e.Elapsed)
		}
		delete(v.said, key)
	case "fail":
		v.failed = append(v.failed, key)
		fmt.Fprintf(v.out, "FAIL  %s\n%s", key, strings.Join(v.said[key], ""))
	case "build-fail":
		fmt.Fprint(v.out, strings.Join(v.said[key], ""))
	case "skip":
		if e.Test != "" { // otherwise a package without tests
			v.skip(key)
		}
	}
}

func (v *verdict) skip(key string) {
	if why, ok := expected[key]; ok {
		fmt.Fprintf(v.out, "skip  %s: %s\n", key, why)
		return
	}
	v.skipped = append(v.skipped, key)
	fmt.Fprintf(v.out, "SKIP  %s\n%s", key, strings.Join(v.said[key], ""))
}

func (v *verdict) good() bool {
	slices.Sort(v.failed)
	for _, f := range v.failed {
		fmt.Fprintln(v.out, "failed:", f)
	}
	if v.strict {
		for _, s := range v.skipped {
			fmt.Fprintln(v.out, "skipped, which CI does not accept:", s)
		}
	}
	return len(v.failed) == 0 && (!v.strict || len(v.skipped) == 0)
}
