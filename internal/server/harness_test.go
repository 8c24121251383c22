package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coop-dev/coop/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// harness is a server on a real unix socket over a fake engine.
type harness struct {
	t      *testing.T
	engine *fakeEngine
	server *Server
	socket string
	client *http.Client
	log    *lockedBuffer
	active atomic.Int64
	stop   func() // ends Serve and waits for it
}

func newHarness(t *testing.T, change ...func(*Config)) *harness {
	t.Helper()
	h := &harness{t: t, engine: newFakeEngine(), log: &lockedBuffer{}}
	cfg := Config{
		Engine:   h.engine,
		PeerUID:  func(*net.UnixConn) (int, error) { return 1000, nil },
		Allow:    func(uid int) bool { return uid == 1000 },
		Version:  api.Version{Version: "1.2.3", Go: "go", API: "v1", Mode: "user"},
		Activity: func(d int) { h.active.Add(int64(d)) },
		Log:      slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	h.server = New(cfg)
	h.listen()
	return h
}

func (h *harness) listen() {
	h.t.Helper()
	dir, err := os.MkdirTemp("", "coop") // t.TempDir may be longer than a socket's name can be
	must(h.t, err)
	h.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h.socket = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", h.socket)
	must(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server.Serve(ctx, ln) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("serve: %v", err)
		}
	})
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", h.socket) }}
	h.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h.t.Cleanup(func() { tr.CloseIdleConnections(); h.stop() })
}

// answer is a response with its body read.
type answer struct {
	t *testing.T
	*http.Response
	body []byte
}

func (h *harness) do(method, path, body string, header ...string) answer {
	h.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, "http://coop"+path, r)
	must(h.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := h.client.Do(req)
	must(h.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(h.t, err)
	if res.Header.Get("X-Request-Id") == "" {
		h.t.Errorf("%s %s: no X-Request-Id", method, path)
	}
	return answer{h.t, res, b}
}

func (h *harness) get(path string) answer { h.t.Helper(); return h.do("GET", api.Prefix+path, "") }
func (h *harness) post(path, body string) answer {
	h.t.Helper()
	return h.do("POST", api.Prefix+path, body)
}

func (a answer) want(status int) answer {
	a.t.Helper()
	if a.StatusCode != status {
		a.t.Fatalf("%s %s: status %d, want %d: %.300s", a.Request.Method, a.Request.URL, a.StatusCode, status, a.body)
	}
	return a
}

// wantError checks the envelope and returns the error.
func (a answer) wantError(status int, code string, parts ...string) api.Error {
	a.t.Helper()
	a.want(status)
	var e api.ErrorBody
	a.into(&e)
	if e.Error.Code != code {
		a.t.Errorf("code %q, want %q: %s", e.Error.Code, code, a.body)
	}
	for _, p := range parts {
		if text := e.Error.Message + "\n" + e.Error.Hint; !strings.Contains(text, p) {
			a.t.Errorf("error does not mention %q: %s", p, text)
		}
	}
	return e.Error
}

func (a answer) into(v any) {
	a.t.Helper()
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		a.t.Fatalf("decode %.300s: %v", a.body, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// happens waits for a channel that must be closed or sent to.
func happens[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
	}
	return v
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// stream is the client's end of an attach.
type stream struct {
	t    *testing.T
	conn *net.UnixConn
	r    *bufio.Reader
	id   string // of the exec
}

// attach upgrades and reads the started frame.
func (h *harness) attach(req api.ExecRequest) *stream {
	h.t.Helper()
	body, err := json.Marshal(req)
	must(h.t, err)
	s, res := h.upgrade(string(body), "Upgrade", api.UpgradeProtocol)
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != api.UpgradeProtocol || res.Header.Get("X-Request-Id") == "" {
		b, _ := io.ReadAll(res.Body)
		h.t.Fatalf("attach: %s %v %s", res.Status, res.Header, b)
	}
	c := s.control()
	if c.Type != "started" || c.Exec == "" {
		h.t.Fatalf("first frame is %+v", c)
	}
	s.id = c.Exec
	return s
}

func (h *harness) upgrade(body string, header ...string) (*stream, *http.Response) {
	h.t.Helper()
	c, err := net.Dial("unix", h.socket)
	must(h.t, err)
	h.t.Cleanup(func() { _ = c.Close() })
	must(h.t, c.SetDeadline(time.Now().Add(patience)))
	req, err := http.NewRequest("POST", "http://coop"+api.Prefix+"/sandboxes/box/exec/attach", strings.NewReader(body))
	must(h.t, err)
	req.Header.Set("Connection", "Upgrade")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	must(h.t, req.Write(c))
	s := &stream{t: h.t, conn: c.(*net.UnixConn), r: bufio.NewReader(c)}
	res, err := http.ReadResponse(s.r, req)
	must(h.t, err)
	return s, res
}

func (s *stream) send(kind byte, payload string) {
	s.t.Helper()
	must(s.t, api.WriteFrame(s.conn, kind, []byte(payload)))
}

func (s *stream) control() api.Control {
	s.t.Helper()
	kind, p, err := api.ReadFrame(s.r)
	must(s.t, err)
	if kind != api.FrameControl {
		s.t.Fatalf("frame 0x%02x %q, want a control frame", kind, p)
	}
	return decodeControl(s.t, p)
}

func decodeControl(t *testing.T, p []byte) (c api.Control) {
	t.Helper()
	must(t, json.Unmarshal(p, &c))
	return c
}

// rest reads to the last frame and checks that nothing follows it.
func (s *stream) rest() (stdout, stderr string, last api.Control) {
	s.t.Helper()
	var out, errOut bytes.Buffer
	for {
		kind, p, err := api.ReadFrame(s.r)
		must(s.t, err)
		switch kind {
		case api.FrameData:
			out.Write(p)
		case api.FrameStderr:
			errOut.Write(p)
		case api.FrameControl:
			last = decodeControl(s.t, p)
			if _, err := s.r.ReadByte(); err != io.EOF {
				s.t.Errorf("after the last frame: %v, want EOF", err)
			}
			return out.String(), errOut.String(), last
		}
	}
}

// until reads stdout until it contains text.
func (s *stream) until(text string) {
	s.t.Helper()
	for got := ""; !strings.Contains(got, text); {
		kind, p, err := api.ReadFrame(s.r)
		must(s.t, err)
		if kind != api.FrameData {
			s.t.Fatalf("frame 0x%02x %q before %q came", kind, p, text)
		}
		got += string(p)
	}
}
