package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{
		"/", "/api", "/api/v1", "/api/v1/", "/api/v1/sandbox", "/api/v1/sandboxes/", "/api/v1/sandboxes/box/nothing", "/api/v2/health",
		"/api/v1/../v1/health", "//api/v1/health", "/api/v1//health", "/api/v1/./health", "//",
	} {
		h.do("GET", path, "").wantError(404, "not_found")
	}
	a := h.do("PATCH", "/api/v1/sandboxes", "")
	a.wantError(405, "invalid", "PATCH", "GET")
	if a.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("allow %q", a.Header.Get("Allow"))
	}
	h.do("GET", "/api/v1/sandboxes/box/exec", "").wantError(405, "invalid")
	h.do("OPTIONS", "/api/v1/health", "").wantError(405, "invalid")
	if a := h.do("HEAD", "/api/v1/health", "").want(200); len(a.body) != 0 {
		t.Errorf("%s", a.body)
	}
}

func TestPlannedEndpointsAreUnsupported(t *testing.T) {
	h := newHarness(t)
	for _, p := range later() {
		method := p.method
		if method == "" {
			method = "PUT"
		}
		path := strings.NewReplacer("{id}", "box", "{pid}", "7", "{n}", "0", "{name}", "x", "{rest...}", "a/b").Replace(p.path)
		h.do(method, path, "").wantError(501, "unsupported", "not there yet", "newer coop")
	}
	if strings.Contains(h.log.String(), "level=ERROR") {
		t.Error("a planned endpoint is logged as an error")
	}
}

func TestRequestID(t *testing.T) {
	h := newHarness(t)
	if got := h.do("GET", "/api/v1/health", "", "X-Request-Id", "abc-1").Header.Get("X-Request-Id"); got != "abc-1" {
		t.Error(got)
	}
	for _, bad := range []string{strings.Repeat("x", 65), "a b", "ä"} {
		if got := h.do("GET", "/nowhere", "", "X-Request-Id", bad).Header.Get("X-Request-Id"); got == bad || len(got) != 16 {
			t.Error(got)
		}
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	h := newHarness(t)
	h.engine.panics = true
	e := h.get("/health").wantError(500, "internal", "request")
	if strings.Contains(e.Message, "boom") {
		t.Error(e.Message)
	}
	if log := h.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, "fake_test.go") {
		t.Errorf("no stack in the log: %s", log)
	}
	h.engine.panics = false
	h.get("/health").want(200)
}

func TestErrorsOfTheEngine(t *testing.T) {
	h := newHarness(t)
	for _, c := range api.Codes() {
		h.engine.err = fmt.Errorf("get box: %w", sandbox.Errorf(sandbox.Code(c.Code), "no").WithHint("do").WithDetail("step", "mount"))
		e := h.get("/sandboxes/box").wantError(c.HTTP, c.Code, "get box: no", "do")
		if e.Details["step"] != "mount" {
			t.Errorf("%+v", e)
		}
	}
	h.engine.err = errors.New("disk on fire")
	h.get("/sandboxes/box").wantError(500, "internal", "disk on fire")
	if !strings.Contains(h.log.String(), "disk on fire") {
		t.Error("an internal error is not in the log")
	}
	h.engine.err = sandbox.Errorf(sandbox.Invalid, "%s", strings.Repeat("ä", 10000))
	if e := h.get("/sandboxes/box").wantError(400, "invalid"); len(e.Message) > maxMessage+8 {
		t.Errorf("%d bytes", len(e.Message))
	}
	h.engine.err = sandbox.Errorf(sandbox.Invalid, "odd").WithDetail("f", func() {})
	h.get("/sandboxes/box").wantError(400, "invalid", "odd")
}

func TestSecretsAreNotLogged(t *testing.T) {
	h := newHarness(t)
	h.do("POST", "/api/v1/sandboxes/box/exec?token=s3cret", `{"command":"true","env":{"K":"s3cret"}}`)
	h.do("POST", "/api/v1/sandboxes", `{"env":{"K":"s3cret"}}`, "Authorization", "Bearer s3cret").want(201)
	h.engine.err = errors.New("broken")
	h.do("POST", "/api/v1/sandboxes", `{"env":{"K":"s3cret"}}`).want(500)
	if strings.Contains(h.log.String(), "s3cret") {
		t.Error(h.log.String())
	}
}

func TestPeers(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"another uid": func(c *Config) { c.PeerUID = func(*net.UnixConn) (int, error) { return 1001, nil } },
		"unknown":     func(c *Config) { c.PeerUID = func(*net.UnixConn) (int, error) { return 1000, os.ErrInvalid } },
		"no PeerUID":  func(c *Config) { c.PeerUID = nil },
		"no Allow":    func(c *Config) { c.Allow = nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, change)
			for _, path := range []string{"/api/v1/health", "/api/v1/openapi.json", "/nowhere", "/api/v1/sandboxes/box"} {
				h.do("GET", path, "").wantError(403, "denied")
			}
			h.post("/sandboxes/box/exec", `{"command":"true"}`).wantError(403, "denied")
			if h.engine.count() != 0 {
				t.Error("reached the engine")
			}
		})
	}
}

func TestHandlerWithoutConnectionDenies(t *testing.T) {
	rec := httptest.NewRecorder()
	New(Config{Engine: newFakeEngine()}).Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/health", nil))
	if rec.Code != http.StatusForbidden {
		t.Error(rec.Code)
	}
}

func TestBrokenRequests(t *testing.T) {
	h := newHarness(t)
	for _, raw := range []string{
		"GET\r\n\r\n",
		"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n",
		"POST /api/v1/sandboxes HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n{}",
		"GET /api/v1/sandboxes/a\x00b HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		c, err := net.Dial("unix", h.socket)
		must(t, err)
		_, _ = io.WriteString(c, raw) // the server may hang up in the middle
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Errorf("%.40q: %s", raw, res.Status)
			}
		}
		must(t, c.Close())
	}
	if h.engine.count() != 0 {
		t.Errorf("reached the engine: %v", h.engine.calls)
	}
}

func TestTruncatedBodyDoesNotReachTheEngine(t *testing.T) {
	h := newHarness(t)
	c, err := net.Dial("unix", h.socket)
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "POST /api/v1/sandboxes HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{}")
	must(t, err)
	must(t, c.(*net.UnixConn).CloseWrite())
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != 400 || h.engine.count() != 0 {
		t.Errorf("%s, engine %v", res.Status, h.engine.calls)
	}
}

func TestNearest(t *testing.T) {
	if d := distance("kitten", "sitting"); d != 3 {
		t.Error(d)
	}
	if got := didYouMean("memroy", []string{"cpu", "memory"}); got != "did you mean memory?" {
		t.Error(got)
	}
	if got := didYouMean("q", nil); got == "" {
		t.Error("no hint")
	}
}

func TestSignalNames(t *testing.T) {
	for in, want := range map[string]string{"SIGINT": "SIGINT", "int": "SIGINT", "9": "SIGKILL", "31": "SIGSYS", "sigterm": "SIGTERM"} {
		if got, err := signalName(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "32", "SIG", "SIGSIGINT", "RTMIN", strings.Repeat("x", 100)} {
		if _, err := signalName(in); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
	if len(signalNames()) != 31 {
		t.Error(len(signalNames()))
	}
}
