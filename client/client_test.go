package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

func dial(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Every method against the path and method of the contract.
func TestEndpoints(t *testing.T) {
	d := fakedaemon.New(t)
	d.Extra = map[string]http.HandlerFunc{}
	for _, verb := range []string{"POST approve", "POST discard", "POST reject", "POST rebase", "GET conflicts"} {
		method, tail, _ := strings.Cut(verb, " ")
		d.Extra[method+" /api/v1/sandboxes/{ref}/"+tail] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }
	}
	d.Listen(t)
	d.Add(api.Sandbox{ID: "id1", Name: "box", Status: "running"})
	c := dial(t, client.Options{Socket: d.Socket})
	ctx := t.Context()
	for _, step := range []struct {
		want string
		call func() error
	}{
		{"POST /sandboxes", func() error { _, err := c.Create(ctx, api.CreateRequest{}, client.WithIdempotencyKey("k")); return err }},
		{"GET /sandboxes?label=a%3Db&limit=5&path=%2Fp&status=running", func() error {
			_, err := c.List(ctx, client.ListOptions{Status: "running", Path: "/p", Labels: map[string]string{"a": "b"}, Limit: 5})
			return err
		}},
		{"GET /sandboxes/box", func() error { _, err := c.Get(ctx, "box"); return err }},
		{"POST /sandboxes/box/stop", func() error { _, err := c.Stop(ctx, "box", api.StopRequest{}); return err }},
		{"POST /sandboxes/box/start", func() error { _, err := c.Start(ctx, "box"); return err }},
		{"POST /sandboxes/box/exec", func() error { _, err := c.Exec(ctx, "box", api.ExecRequest{Command: "ls"}); return err }},
		{"GET /sandboxes/box/processes", func() error { _, err := c.Processes(ctx, "box"); return err }},
		{"DELETE /sandboxes/box/processes/7", func() error { return c.KillProcess(ctx, "box", 7, "") }},
		{"DELETE /sandboxes/box/processes/7?signal=SIGKILL", func() error { return c.KillProcess(ctx, "box", 7, "SIGKILL") }},
		{"PUT /sandboxes/box/files?path=%2Fa+b", func() error { return c.WriteFile(ctx, "box", "/a b", strings.NewReader("x")) }},
		{"POST /sandboxes/box/approve", func() error { _, err := c.Approve(ctx, "box", api.ApproveRequest{}); return err }},
		{"POST /sandboxes/box/discard", func() error { _, err := c.Discard(ctx, "box", api.DiscardRequest{}); return err }},
		{"POST /sandboxes/box/reject", func() error { _, err := c.Reject(ctx, "box", api.RejectRequest{}); return err }},
		{"POST /sandboxes/box/rebase", func() error { _, err := c.Rebase(ctx, "box", api.RebaseRequest{}); return err }},
		{"GET /sandboxes/box/conflicts", func() error { _, err := c.Conflicts(ctx, "box"); return err }},
		{"GET /audit?limit=3&path=%2Fp%2Ff", func() error { _, err := c.AuditOf(ctx, "/p/f", 3); return err }},
		{"GET /audit?limit=3&sandbox=box", func() error { _, err := c.Audit(ctx, "box", 3); return err }},
		{"GET /health", func() error { _, err := c.Health(ctx); return err }},
		{"GET /doctor", func() error { _, err := c.Doctor(ctx); return err }},
		{"GET /version", func() error { _, err := c.Version(ctx); return err }},
		{"POST /shutdown?keep=1", func() error { return c.Shutdown(ctx, true) }},
		{"POST /shutdown", func() error { return c.Shutdown(ctx, false) }},
		{"DELETE /sandboxes/box", func() error { return c.Delete(ctx, "box") }},
	} {
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.want, err)
		}
		all := d.Requests()
		if got := all[len(all)-1]; got != step.want {
			t.Errorf("sent %q, want %q", got, step.want)
		}
	}
	if diff := cmp.Diff([]string{"k"}, d.Keys()); diff != "" {
		t.Error(diff)
	}
}

func TestReadFile(t *testing.T) {
	d := fakedaemon.Start(t)
	c := dial(t, client.Options{Socket: d.Socket})
	f, err := c.ReadFile(t.Context(), "box", "/etc/ä&b")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "content of /etc/ä&b" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestListAllFollowsCursors(t *testing.T) {
	d := fakedaemon.Start(t)
	d.PageSize = 2
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		d.Add(api.Sandbox{ID: id})
	}
	c := dial(t, client.Options{Socket: d.Socket})
	all, err := c.ListAll(t.Context(), client.ListOptions{})
	if err != nil || len(all) != 5 {
		t.Errorf("%d sandboxes, %v", len(all), err)
	}
}

func TestErrorsComeAsTheyWere(t *testing.T) {
	d := fakedaemon.Start(t)
	c := dial(t, client.Options{Socket: d.Socket})
	_, err := c.Get(t.Context(), "nobody/../x")
	var failure *api.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%T %v", err, err)
	}
	if diff := cmp.Diff(&api.Error{Code: api.CodeNotFound, Message: `no sandbox "nobody/../x"`, Hint: "coop ls"}, failure); diff != "" {
		t.Error(diff)
	}
	for _, ref := range []string{"", ".", ".."} {
		if err := c.Delete(t.Context(), ref); !errors.As(err, &failure) || failure.Code != api.CodeInvalid {
			t.Errorf("ref %q: %v", ref, err)
		}
	}
}

func TestAnswerOfSomethingElse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	c := dial(t, client.Options{Host: server.URL})
	_, err := c.Version(t.Context())
	var failure *api.Error
	if !errors.As(err, &failure) || failure.Code != api.CodeUnavailable {
		t.Errorf("%v", err)
	}
}

func TestTokenOverTCPOnly(t *testing.T) {
	d := fakedaemon.Start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.Serve(t, l)
	for _, host := range []string{"http://" + l.Addr().String(), "unix://" + d.Socket} {
		c := dial(t, client.Options{Host: host, Token: "secret"})
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer secret", ""}, d.Authorizations()); diff != "" {
		t.Error(diff)
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	started := &api.Error{Code: api.CodeUnavailable, Message: "no user namespaces"}
	for name, o := range map[string]client.Options{
		"no socket": {Socket: filepath.Join(dir, "daemon.sock")},
		"long path": {Socket: filepath.Join(dir, strings.Repeat("x", 120), "daemon.sock")},
		"dial": {Socket: "/s", Dial: func(context.Context, string) (net.Conn, error) {
			return nil, started
		}},
	} {
		c := dial(t, o)
		_, err := c.Version(t.Context())
		if !errors.Is(err, client.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		var failure *api.Error
		if name == "dial" && (!errors.As(err, &failure) || failure != started) {
			t.Errorf("%s: cause hidden: %v", name, err)
		}
		if name != "dial" && !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%s: errno hidden: %v", name, err)
		}
	}
}

// A path that does not fit into sockaddr_un is reached all the same.
func TestLongSocketPath(t *testing.T) {
	d := fakedaemon.Start(t)
	deep := filepath.Join(d.Home, strings.Repeat("é", 60))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.Socket, filepath.Join(deep, "daemon.sock")); err != nil {
		t.Fatal(err)
	}
	c := dial(t, client.Options{Socket: filepath.Join(deep, "daemon.sock")})
	if _, err := c.Version(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLostConnection(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(fakedaemon.New(t).Home, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
		}
	}()
	c := dial(t, client.Options{Socket: l.Addr().String()})
	if _, err := c.Version(t.Context()); !errors.Is(err, client.ErrLost) {
		t.Errorf("%v", err)
	}
}

func TestCancelledCallTellsTheCause(t *testing.T) {
	cause := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	d := fakedaemon.Start(t)
	c := dial(t, client.Options{Socket: d.Socket})
	_, err := c.Version(ctx)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

func TestHosts(t *testing.T) {
	for host, ok := range map[string]bool{
		"unix:///run/coop.sock": true, "http://h:1": true, "https://h/": true,
		"unix://run/coop.sock": false, "tcp://h:1": false, "h:1": false, "http://h/x": false, "http://": false, "%": false,
	} {
		if _, err := client.New(client.Options{Host: host}); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := client.New(client.Options{}); err == nil {
		t.Error("no daemon at all is accepted")
	}
}
