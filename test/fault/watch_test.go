package fault

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/test/harness"
)

// request speaks to the daemon directly: a test of what happens to a stream must
// not have a client library mend it.
func request(ctx context.Context, conn net.Conn, method, path string, body any) (*http.Response, *bufio.Reader, error) {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return nil, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://coop"+api.Prefix+path, bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	if body == nil && method == http.MethodGet {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", api.UpgradeProtocol)
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := req.Write(conn); err != nil {
		return nil, nil, err
	}
	r := bufio.NewReaderSize(conn, 256<<10)
	resp, err := http.ReadResponse(r, req)
	return resp, r, err
}

// open opens a terminal.
func openTerminal(t testing.TB, h harness.Instance, box string, req api.TerminalRequest) int {
	t.Helper()
	h.StartDaemon(t)
	conn, err := net.Dial("unix", h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp, _, err := request(t.Context(), conn, http.MethodPost, "/sandboxes/"+box+"/terminals", req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var term api.Terminal
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(b, &term) != nil {
		t.Fatalf("open a terminal: %v: %s: %s", err, resp.Status, b)
	}
	return term.Number
}

// watcher is a client of a terminal.
type watcher struct {
	conn net.Conn
	r    *bufio.Reader
	buf  []byte
}

// watch attaches to a terminal of a daemon that is there.
func watch(ctx context.Context, h harness.Instance, box string, n int) (*watcher, error) {
	conn, err := net.Dial("unix", h.Socket())
	if err != nil {
		return nil, err
	}
	resp, r, err := request(ctx, conn, http.MethodGet, fmt.Sprintf("/sandboxes/%s/terminals/%d/attach?cols=80&rows=24", box, n), nil)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		b, _ := io.ReadAll(resp.Body) // for the message
		err = fmt.Errorf("attach: %s: %s", resp.Status, b)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	_ = stop // the connection is closed twice at worst
	return &watcher{conn: conn, r: r}, nil
}

// next gives output, or a control frame.
func (w *watcher) next() ([]byte, *api.Control, error) {
	var head [api.FrameHeaderSize]byte
	if _, err := io.ReadFull(w.r, head[:]); err != nil {
		return nil, nil, err
	}
	size := int(head[1])<<24 | int(head[2])<<16 | int(head[3])<<8 | int(head[4])
	if size > cap(w.buf) {
		w.buf = make([]byte, size)
	}
	body := w.buf[:size]
	if _, err := io.ReadFull(w.r, body); err != nil {
		return nil, nil, err
	}
	if head[0] != api.FrameControl {
		return body, nil, nil
	}
	c := new(api.Control)
	return nil, c, json.Unmarshal(body, c)
}

// rawLog reads all that is stored of a terminal.
func rawLog(t testing.TB, h harness.Instance, box string, n int) []byte {
	t.Helper()
	h.StartDaemon(t)
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.Socket())
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get(fmt.Sprintf("http://coop%s/sandboxes/%s/terminals/%d/logs?raw=1", api.Prefix, box, n))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("log of terminal %d: %v: %s: %.200s", n, err, resp.Status, b)
	}
	return b
}
