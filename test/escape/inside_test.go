package escape

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// How the program inside is told what to do.
const (
	envAttack = "COOP_ESCAPE_ATTACK"
	envPart   = "COOP_ESCAPE_PART"
)

// Parts of an attack.
const (
	partRun     = "run"
	partControl = "control"
	partChild   = "child"
)

const verdictMark = "COOP-ESCAPE "

// inside carries out one part of one attack and reports. It reports false where
// this is no program inside a sandbox.
func inside() bool {
	name := os.Getenv(envAttack)
	if name == "" {
		return false
	}
	for _, a := range attacks() {
		if a.Name == name {
			report(judge(name, part(a)()))
			return true
		}
	}
	fmt.Fprintln(os.Stderr, "no such attack:", name)
	os.Exit(2)
	return true
}

func part(a attack) func() error {
	switch os.Getenv(envPart) {
	case partControl:
		return a.Control
	case partChild:
		return a.Child
	}
	return a.Run
}

func report(v verdict) {
	b, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println(verdictMark + string(b))
}

// readVerdict finds the verdict in what the program printed.
func readVerdict(stdout string) (verdict, bool) {
	for line := range strings.Lines(stdout) {
		if text, ok := strings.CutPrefix(line, verdictMark); ok {
			var v verdict
			return v, json.Unmarshal([]byte(text), &v) == nil
		}
	}
	return verdict{}, false
}
