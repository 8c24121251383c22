package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
)

var update = flag.Bool("update", false, "write the references in docs")

// refusedByDaemon are keys of requests that the daemon answers with
// `unsupported`; the story config_later has each of them.
var refusedByDaemon = []string{"workspace.commit", "session.ttl", "session.idle_timeout", "limits.disk"}

// TestReference keeps the references true: their tables are written from the
// tables of keys.
func TestReference(t *testing.T) {
	c, d, m := Defaults(), DaemonDefaults(), Mount{}
	checkReference(t, "../../docs/coop-toml.md",
		table(keys(), &c, refusedByDaemon)+"\nEach of `[[mounts]]` has:\n\n"+table(mountKeys(), &m, nil))
	checkReference(t, "../../docs/daemon-toml.md",
		table(daemonKeys(), &d, []string{"listen", "pool", "limits.default.disk", "limits.maximum.disk"}))
}

func checkReference(t *testing.T, file, want string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(data), "-update -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks", file)
	}
	text := head + "-update -->\n" + want + "<!-- end -->" + tail
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !*update && text != string(data) {
		t.Errorf("%s is not what the code says: go test ./internal/config -run TestReference -update", file)
	}
}

func table[T any](all []key[T], defaults *T, later []string) string {
	var b strings.Builder
	b.WriteString("| key | type | default | |\n|---|---|---|---|\n")
	for _, k := range all {
		mark := ""
		for _, l := range later {
			if l == k.name {
				mark = " †"
			}
		}
		kind, value := describe(k.field(defaults))
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", k.name, mark, kind, value, k.about)
	}
	return b.String()
}

// describe names a field's type and shows its value as one would write it.
func describe(field any) (kind, value string) {
	code := func(set bool, v string) string {
		if !set {
			return ""
		}
		return "`" + v + "`"
	}
	switch v := field.(type) {
	case *string:
		return "string", code(*v != "", quote(*v))
	case *bool:
		return "true or false", code(true, fmt.Sprint(*v))
	case *int64:
		return "whole number", code(*v != 0, fmt.Sprint(*v))
	case *float64:
		return "number", code(*v != 0, fmt.Sprint(*v))
	case *api.Size:
		return "size", code(*v != 0, quote(v.String()))
	case *api.Duration:
		return "duration", code(*v != 0, quote(short(time.Duration(*v))))
	case *[]string:
		return "list of strings", code(len(*v) > 0, quoteAll(*v))
	case *map[string]string:
		return "table of strings", ""
	case *map[string]int64:
		return "table of numbers", ""
	case *[]Mount:
		return "list of tables", ""
	}
	return fmt.Sprintf("%T", field), ""
}

// short writes 24h0m0s as 24h.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// The examples of the reference are legal.
func TestReferenceExamples(t *testing.T) {
	data, err := os.ReadFile("../../docs/coop-toml.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "```toml\n")
	if len(parts) < 2 {
		t.Fatal("no example")
	}
	for _, p := range parts[1:] {
		text, _, _ := strings.Cut(p, "```")
		if s := said(t, text); s != "" {
			t.Errorf("%s\n%s", text, s)
		}
	}
}
