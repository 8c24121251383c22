package fault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/test/harness"
	"github.com/coop-dev/coop/test/pgserver"
)

// onServer is a home whose daemon keeps its records on a database server.
type onServer struct {
	harness.Instance
	t      *testing.T
	config string
}

func newOnServer(t *testing.T, url string) onServer {
	t.Helper()
	config := t.TempDir()
	if err := os.MkdirAll(filepath.Join(config, "coop"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "store = \"" + url + "\"\n"
	if err := os.WriteFile(filepath.Join(config, "coop", "daemon.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := onServer{Instance: harness.Private(t), t: t, config: config}
	t.Cleanup(func() { // before the harness looks, which does not know of the server
		h.run("rm", "-f", "--all")
		h.run("shutdown")
	})
	return h
}

func (h onServer) run(args ...string) (stdout, stderr string) {
	h.t.Helper()
	cmd := h.Command(within(h.t, 2*time.Minute), args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+h.config, "HOME="+h.config)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), errs.String()
}

// Two daemons share a database server: neither takes the other's sandboxes for
// its own or for strays, also not when it starts anew, and both survive a
// restart of the server.
func TestTwoDaemonsOneServer(t *testing.T) {
	server, err := pgserver.New()
	if errors.Is(err, pgserver.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Remove)
	a, b := newOnServer(t, server.URL()), newOnServer(t, server.URL())
	for _, h := range []onServer{a, b} {
		if id, stderr := h.run("create", "--name", "same", "--mode", "none"); id == "" {
			t.Fatal(stderr)
		}
	}
	for _, h := range []onServer{a, b} { // recovery sees only its own
		h.run("shutdown", "--keep")
		if out, stderr := h.run("exec", "same", "--", "echo", "alive"); out != "alive" {
			t.Errorf("%q %s", out, stderr)
		}
		if out, _ := h.run("ls", "-q"); len(strings.Fields(out)) != 1 {
			t.Errorf("it lists %q", out)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, stderr := a.run("create", "--mode", "none"); !strings.Contains(stderr, "the server cannot be reached") {
		t.Errorf("without a server: %s", stderr)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if out, stderr := a.run("exec", "same", "--", "echo", "still"); out != "still" {
		t.Errorf("%q %s", out, stderr)
	}
	a.run("rm", "-f", "same")
	if out, stderr := b.run("exec", "same", "--", "echo", "unharmed"); out != "unharmed" {
		t.Errorf("%q %s", out, stderr)
	}
}
