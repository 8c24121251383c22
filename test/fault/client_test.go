package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/test/harness"
)

// tree is a command that leaves nothing out: a child, a grandchild in a session
// of its own whose parent has ended, and one that ignores SIGTERM. It tells when
// all of them run.
const tree = `
(echo >/tmp/1; exec sleep 9001) &
(setsid sh -c 'setsid sh -c "echo >/tmp/2; exec sleep 9002" & exit' &)
(trap "" TERM HUP INT; echo >/tmp/3; exec sleep 9003) &
until test -e /tmp/1 && test -e /tmp/2 && test -e /tmp/3; do :; done
echo ready
wait
exec sleep 9004
`

// running lists what runs in a sandbox; a zombie does not.
func running(t testing.TB, c *client.Client, ref string) []string {
	t.Helper()
	list, err := c.Processes(within(t, time.Minute), ref)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range list.Items {
		if p.State == "Z" {
			continue
		}
		all = append(all, fmt.Sprintf("%d %s %s", p.PID, p.State, p.Command))
	}
	return all
}

// untilNothingRuns waits for the end of everything in a sandbox: the daemon
// learns of a client that went away when it learns of it.
func untilNothingRuns(t *testing.T, c *client.Client, ref string) {
	t.Helper()
	until(t, func() ([]string, bool) {
		all := running(t, c, ref)
		return all, len(all) == 0
	})
}

// A client that closes its connection takes the whole tree of its command along.
func TestClientVanishes(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	stream, err := c.Attach(within(t, time.Minute), sb.ID, api.ExecRequest{Command: tree})
	if err != nil {
		t.Fatal(err)
	}
	readUntil(t, stream, "ready\n")
	stream.Close()
	untilNothingRuns(t, c, sb.ID)
	wantUsable(t, c, sb.ID)
}

// So does a client of coop exec that is killed.
func TestCommandLineKilled(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	cmd := harness.Shared().Command(context.Background(), "exec", sb.ID, "--", "sh", "-c", tree)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	untilNothingRuns(t, c, sb.ID)
}

// A client that vanishes during a plain exec ends that command too.
func TestClientVanishesDuringPlainExec(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "mkfifo /workspace/f", "")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Exec(ctx, sb.ID, api.ExecRequest{Command: "echo here >/workspace/f; exec sleep 9001"}) // cancelled below
	}()
	wantShell(t, c, sb.ID, "cat /workspace/f", "here")
	cancel()
	<-done
	untilNothingRuns(t, c, sb.ID)
}

// A time limit kills everything the command has started, however far it has
// gone away from it.
func TestTimeoutKillsTheTree(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	res, err := c.Exec(within(t, time.Minute), sb.ID, api.ExecRequest{Command: tree, TimeoutMs: 3000})
	if err != nil {
		t.Fatal(err)
	}
	if !res.TimedOut || res.ExitCode != 124 || !strings.Contains(res.Stdout, "ready") {
		t.Errorf("%+v", res)
	}
	if all := running(t, c, sb.ID); len(all) > 0 { // the kill comes before the answer
		t.Errorf("still running: %q", all)
	}
	wantUsable(t, c, sb.ID)
}

// A create whose client goes away half-way leaves nothing, or a whole sandbox
// if it was through.
func TestCreateCancelled(t *testing.T) {
	h := harness.Shared()
	c := h.Client(t)
	wantUsable(t, c, create(t, c, "").ID)
	for i := range 10 {
		conn, err := net.Dial("unix", h.Socket())
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"name": "cancelled-%d", "workspace": {"mode": "none"}}`, i)
		request := fmt.Sprintf("POST /api/v1/sandboxes HTTP/1.1\r\nHost: coop\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // let the daemon get somewhat further: another whole request is answered meanwhile
			if _, err := c.Health(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
	}
	// Nobody tells when a create without a client is over, so look until what is
	// there and what is listed agree.
	ids := until(t, func() ([]string, bool) {
		list, err := c.ListAll(within(t, time.Minute), client.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids, made := []string{}, true
		for _, sb := range list {
			ids = append(ids, sb.ID)
			made = made && sb.Status == "running"
		}
		return ids, made && len(h.Strays(ids...)) == 0
	})
	t.Logf("%d of 10 cancelled creates were through", len(ids)-1)
	for _, id := range ids {
		wantShell(t, c, id, "echo ok", "ok")
		if err := c.Delete(within(t, time.Minute), id); err != nil {
			t.Error(err)
		}
	}
	until(t, func() ([]string, bool) { left := h.Strays(); return left, len(left) == 0 })
}

// Creates with one Idempotency-Key, at once and later, make one sandbox.
func TestIdempotentCreate(t *testing.T) {
	c := harness.Client(t)
	req := api.CreateRequest{Workspace: &api.Workspace{Mode: "none"}}
	key := client.WithIdempotencyKey("one-" + t.Name())
	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			sb, err := c.Create(context.Background(), req, key)
			mu.Lock()
			defer mu.Unlock()
			var failure *api.Error
			switch {
			case err == nil:
				ids[sb.ID] = true
			case errors.As(err, &failure) && failure.Code == api.CodeConflict: // still being made
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	again, err := c.Create(within(t, time.Minute), req, key)
	if err != nil {
		t.Fatal(err)
	}
	ids[again.ID] = true
	if len(ids) != 1 {
		t.Errorf("%d sandboxes: %v", len(ids), ids)
	}
	if err := c.Delete(within(t, time.Minute), again.ID); err != nil {
		t.Error(err)
	}
	harness.Shared().NoneLeft(t)
}

// A client that sends half a request, or nonsense, harms nobody.
func TestHalfRequests(t *testing.T) {
	h := harness.Shared()
	h.StartDaemon(t)
	for _, text := range []string{
		"", "\x00", "GET", "POST /api/v1/sandboxes HTTP/1.1\r\n",
		"POST /api/v1/sandboxes HTTP/1.1\r\nHost: coop\r\nContent-Length: 1000\r\n\r\n{\"name\":",
		"POST /api/v1/sandboxes HTTP/1.1\r\nHost: coop\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		strings.Repeat("A", 1<<20),
	} {
		conn, err := net.Dial("unix", h.Socket())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // it may refuse to read all of it
		conn.Close()
	}
	wantUsable(t, h.Client(t), create(t, h.Client(t), "").ID)
}

// An attached client that stops reading does not stop the daemon.
func TestClientThatDoesNotRead(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	stuck, err := c.Attach(within(t, time.Minute), sb.ID, api.ExecRequest{Command: "exec cat /dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stuck.Next(); err != nil {
		t.Fatal(err)
	}
	wantUsable(t, c, sb.ID)
	if err := c.Delete(within(t, time.Minute), sb.ID); err != nil {
		t.Errorf("delete while a client does not read: %v", err)
	}
	stuck.Close()
}

// post sends a raw body to the shared daemon.
func post(t *testing.T, path string, body []byte) (int, api.ErrorBody) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return client.DialUnix(ctx, harness.Shared().Socket())
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodPost, "http://coop"+api.Prefix+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var e api.ErrorBody
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, e
}

// Bodies larger than any request are refused by their length, not read.
func TestHugeBody(t *testing.T) {
	harness.Shared().StartDaemon(t)
	if status, e := post(t, "/sandboxes", bytes.Repeat([]byte(" "), 64<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d: %+v", status, e)
	}
}
