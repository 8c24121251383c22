package base

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestSteps(t *testing.T) {
	b := &sandbox.Build{
		Install: "npm i -g agent", Run: []string{"a", "b; c"}, Pip: []string{"ruff"}, Apt: []string{"git", "curl"},
	}
	var texts []string
	for _, s := range Steps(b) {
		texts = append(texts, s.Text)
	}
	want := []string{"apt install git curl", "pip install ruff", "run a", "run b; c", "agent install npm i -g agent"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	if Steps(nil) != nil {
		t.Error("steps of nothing")
	}
}

// Packages are arguments after --, never text for a shell.
func TestPackagesAreArguments(t *testing.T) {
	b := &sandbox.Build{Apt: []string{"x"}, Apk: []string{"x"}, Dnf: []string{"x"}, Npm: []string{"x"}, Pip: []string{"x"}}
	for _, s := range Steps(b) {
		found := false
		for _, c := range s.Commands {
			if c.Shell {
				t.Errorf("%s goes through a shell", s.Text)
			}
			i := slices.Index(c.Args, "--")
			found = found || i >= 0 && slices.Equal(c.Args[i+1:], []string{"x"})
		}
		if !found {
			t.Errorf("%s: %+v", s.Text, s.Commands)
		}
	}
}

func TestKeys(t *testing.T) {
	steps := func(run ...string) []Step { return Steps(&sandbox.Build{Run: run}) }
	one := Keys("sha256:a", steps("a", "b"))
	if len(one) != 3 || !slices.Equal(one, Keys("sha256:a", steps("a", "b"))) {
		t.Fatalf("%q", one)
	}
	longer := Keys("sha256:a", steps("a", "b", "c"))
	if !slices.Equal(one, longer[:3]) {
		t.Error("a step more changes the ones before")
	}
	for what, other := range map[string][]string{
		"image": Keys("sha256:b", steps("a", "b")),
		"order": Keys("sha256:a", steps("b", "a")),
		"text":  Keys("sha256:a", steps("a", "b ")),
		"joint": Keys("sha256:a", steps("a\nb")),
	} {
		if slices.Contains(one[1:], other[len(other)-1]) {
			t.Errorf("%s does not matter", what)
		}
	}
	if LayerName("k", "p", "") == LayerName("k", "q", "") || LayerName("k", "", "m") == LayerName("k", "", "") {
		t.Error("names of layers")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestOutput(t *testing.T) {
	var log bytes.Buffer
	o := &Output{Log: &log}
	for i := range 100_000 {
		fmt.Fprintf(o, "line %d\r\n", i)
	}
	lines := o.LastLines()
	if len(lines) != tailLines || lines[tailLines-1] != "line 99999" {
		t.Errorf("%q", lines)
	}
	for range 20 {
		_, _ = o.Write(make([]byte, 1<<20))
	}
	if log.Len() != maxLog || cap(o.end) > 4<<20 {
		t.Errorf("log of %d bytes, end of %d", log.Len(), cap(o.end))
	}
	noted := 0
	o = &Output{Log: broken{}, Note: func(error) { noted++ }}
	fmt.Fprint(o, "\xff x\n")
	fmt.Fprint(o, "y")
	if got := strings.Join(o.LastLines(), "|"); noted != 1 || got != "\ufffd x|y" {
		t.Errorf("noted %d times, %q", noted, got)
	}
}
