package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal"
)

func newTerminalHarness(t *testing.T) (*harness, *fakeTerminals) {
	t.Helper()
	var f *fakeTerminals
	h := newHarness(t, func(c *Config) {
		f = newFakeTerminals(t, c.Engine.(*fakeEngine))
		c.Terminals = f
	})
	return h, f
}

func TestOpenTerminal(t *testing.T) {
	h, f := newTerminalHarness(t)
	var got api.Terminal
	a := h.post("/sandboxes/box/terminals", `{"role":"exec","command":"make","args":["x"],"onExit":"remove","timeoutMs":5,"cols":100,"rows":30}`).want(http.StatusCreated)
	a.into(&got)
	if got.Number != 1 || !got.Running || !strings.HasSuffix(a.Header.Get("Location"), "/terminals/1") {
		t.Errorf("%+v %s", got, a.Header)
	}
	if r := f.request; r.Role != "exec" || !r.Direct || r.Args[0] != "x" || r.OnExit != "remove" || r.Timeout.Milliseconds() != 5 || r.Cols != 100 {
		t.Errorf("%+v", r)
	}
	h.post("/sandboxes/box/terminals", "").want(http.StatusCreated)
	if f.request.Role != "shell" {
		t.Errorf("%+v", f.request)
	}
	h.post("/sandboxes/box/terminals", `{"reuse":true}`).want(http.StatusOK)
	var list api.List[api.Terminal]
	h.get("/sandboxes/box/terminals").want(http.StatusOK).into(&list)
	if list.Total != 3 {
		t.Errorf("%+v", list)
	}
}

func TestTerminalRequestsAreChecked(t *testing.T) {
	h, _ := newTerminalHarness(t)
	for _, body := range []string{
		`{"role":"agent"}`, `{"role":"exec"}`, `{"args":[]}`, `{"onExit":"keep"}`, `{"role":"exec","command":"x","onExit":"burn"}`,
		`{"role":"exec","command":"x","reuse":true}`, `{"cols":5000,"rows":1}`, `{"cols":80}`, `{"command":"a\u0000b"}`,
		`{"role":"exec","command":"x","timeoutMs":-1}`, `{"user":"a b"}`, `{"env":{"A=B":"c"}}`, `{"nope":1}`,
	} {
		h.post("/sandboxes/box/terminals", body).wantError(http.StatusBadRequest, api.CodeInvalid)
	}
	h.post("/sandboxes/box/terminals/0/resize", `{"cols":0,"rows":5}`).wantError(http.StatusBadRequest, api.CodeInvalid)
	h.post("/sandboxes/box/terminals/0/resize", `{"cols":90,"rows":50}`).want(http.StatusNoContent)
	for _, n := range []string{"7", "-1", "00", "x", "99999999999999999999"} {
		h.get("/sandboxes/box/terminals/"+n+"/logs").wantError(http.StatusNotFound, api.CodeNotFound)
	}
	h.get("/sandboxes/box/terminals/0/logs?tail=x").wantError(http.StatusBadRequest, api.CodeInvalid)
	h.get("/sandboxes/box/terminals/0/logs?raw=x").wantError(http.StatusBadRequest, api.CodeInvalid)
	h.get("/sandboxes/box/terminals/0/attach").wantError(http.StatusBadRequest, api.CodeInvalid, "upgrade")
	h.get("/sandboxes/box/exec/attach").wantError(http.StatusBadRequest, api.CodeInvalid, "upgrade")
	h.do("DELETE", api.Prefix+"/sandboxes/box/terminals/0", "").want(http.StatusNoContent)
}

func TestRestartTakesWhatIsThere(t *testing.T) {
	h, f := newTerminalHarness(t)
	h.post("/sandboxes/box/restart", `{"agent":{"command":"claude"},"session":{"autoRestart":false,"block":["\\x04"],"scrollback":"1MiB"}}`).want(http.StatusOK)
	if r := f.restart; r.Agent.Command != "claude" || r.Session.Restarts() || r.Session.Scrollback() != 1<<20 {
		t.Errorf("%+v", r)
	}
	h.post("/sandboxes/box/restart", "").want(http.StatusOK)
	h.post("/sandboxes/box/terminals/0/restart", "").want(http.StatusOK)
	for _, body := range []string{`{"session":{"block":["\\q"]}}`, `{"session":{"scrollback":"1TiB"}}`, `{"agent":{"user":"a b"}}`} {
		h.post("/sandboxes/box/restart", body).wantError(http.StatusBadRequest, api.CodeInvalid)
	}
}

func TestLogIsHarmlessUnlessRaw(t *testing.T) {
	h, f := newTerminalHarness(t)
	raw := "one\r\ntwo\x1b]52;c;aGk=\a\r\n\x1b[31mred\x1b[m\rthree\r\n"
	f.ptys[0].print(raw)
	for path, want := range map[string]string{
		"": "one\ntwo\n\x1b[31mred\x1b[m\nthree\n\x1b[m", "?raw=1": raw, "?tail=1": "\x1b[31mred\x1b[m\nthree\n\x1b[m", "?tail=0": "", "?tail=100&raw": raw,
	} {
		got := string(h.get("/sandboxes/box/terminals/0/logs" + path).want(http.StatusOK).body)
		if strings.TrimSuffix(got, "\x1b[m") != strings.TrimSuffix(want, "\x1b[m") {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	f.list[0].Close("")
	f.mu.Lock()
	f.list[0] = nil
	f.mu.Unlock()
	if got := h.get("/sandboxes/box/terminals/0/logs?raw=1").want(http.StatusOK).body; string(got) != raw {
		t.Errorf("after the end: %q", got)
	}
}

func TestLogFollows(t *testing.T) {
	h, f := newTerminalHarness(t)
	f.ptys[0].print("before\r\n")
	res, err := h.client.Get("http://coop" + api.Prefix + "/sandboxes/box/terminals/0/logs?follow=1&raw=1")
	must(t, err)
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	for _, want := range []string{"before\r\n", "after\r\n"} {
		line, err := r.ReadString('\n')
		must(t, err)
		if line != want {
			t.Errorf("got %q, want %q", line, want)
		}
		if want == "before\r\n" {
			f.ptys[0].print("after\r\n")
		}
	}
	f.list[0].Close("")
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
}

// viewers are the two forms of a stream, for tests that hold for both.
type termStream interface {
	next() (kind byte, payload []byte, err error)
	send(kind byte, payload []byte)
	close()
}

type framesClient struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func (f framesClient) next() (byte, []byte, error) { return api.ReadFrame(f.r) }
func (f framesClient) send(kind byte, payload []byte) {
	must(f.t, api.WriteFrame(f.c, kind, payload))
}
func (f framesClient) close() { _ = f.c.Close() }

type webClient struct {
	t *testing.T
	c *websocket.Conn
}

func (w webClient) next() (byte, []byte, error) {
	kind, b, err := w.c.Read(context.Background())
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		err = io.EOF
	}
	if kind == websocket.MessageText {
		return api.FrameControl, b, err
	}
	return api.FrameData, b, err
}

func (w webClient) send(kind byte, payload []byte) {
	typ := websocket.MessageBinary
	if kind == api.FrameControl {
		typ = websocket.MessageText
	}
	must(w.t, w.c.Write(context.Background(), typ, payload))
}
func (w webClient) close() { _ = w.c.CloseNow() }

func (h *harness) frames(path string) termStream {
	h.t.Helper()
	c, err := net.Dial("unix", h.socket)
	must(h.t, err)
	h.t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, "GET "+api.Prefix+path+" HTTP/1.1\r\nHost: coop\r\nConnection: Upgrade\r\nUpgrade: coop-stream\r\n\r\n")
	must(h.t, err)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	must(h.t, err)
	if res.StatusCode != http.StatusSwitchingProtocols {
		h.t.Fatalf("status %d", res.StatusCode)
	}
	return framesClient{h.t, c, r}
}

func (h *harness) web(path string) termStream {
	h.t.Helper()
	c, _, err := websocket.Dial(context.Background(), "ws://coop"+api.Prefix+path, &websocket.DialOptions{HTTPClient: h.client})
	must(h.t, err)
	h.t.Cleanup(func() { c.CloseNow() })
	return webClient{h.t, c}
}

// both runs a test with each form.
func both(t *testing.T, f func(t *testing.T, h *harness, ts *fakeTerminals, open func(string) termStream)) {
	for _, name := range []string{"coop-stream", "websocket"} {
		t.Run(name, func(t *testing.T) {
			h, ts := newTerminalHarness(t)
			open := h.frames
			if name == "websocket" {
				open = h.web
			}
			f(t, h, ts, open)
		})
	}
}

// untilControl collects output up to a control frame of that type.
func untilControl(t *testing.T, s termStream, kind string) (out string, c api.Control) {
	t.Helper()
	for {
		k, b, err := s.next()
		if err != nil {
			t.Fatalf("waiting for %q: %v", kind, err)
		}
		if k != api.FrameControl {
			out += string(b)
			continue
		}
		c = api.Control{}
		must(t, json.Unmarshal(b, &c))
		if c.Type == kind {
			return out, c
		}
	}
}

func wantEnd(t *testing.T, s termStream) {
	t.Helper()
	if _, b, err := s.next(); err != io.EOF {
		t.Errorf("the stream goes on: %q %v", b, err)
	}
}

func TestAttachTerminal(t *testing.T) {
	both(t, func(t *testing.T, _ *harness, ts *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach?cols=100&rows=30")
		if _, c := untilControl(t, s, "attached"); c.Terminal.Cols != 100 || c.Terminal.Clients != 1 {
			t.Errorf("%+v", c.Terminal)
		}
		s.send(api.FrameData, []byte("ls\r"))
		ts.ptys[0].await(func() bool { return string(ts.ptys[0].in) == "ls\r" })
		s.send(api.FrameControl, []byte(`{"type":"resize","cols":90,"rows":20}`))
		if _, c := untilControl(t, s, "resize"); c.Cols != 90 {
			t.Errorf("%+v", c)
		}
		ts.ptys[0].print("out\r\n")
		ts.ptys[0].set(func() { ts.ptys[0].ended = true })
		must(t, ts.list[0].Exited(context.Background(), terminal.Status{Code: 4}))
		if out, c := untilControl(t, s, "exit"); out != "out\r\n" || c.Exit.ExitCode != 4 {
			t.Errorf("%q %+v", out, c.Exit)
		}
		ts.list[0].Close("")
		wantEnd(t, s)
	})
}

func TestDetachTerminal(t *testing.T) {
	both(t, func(t *testing.T, _ *harness, ts *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach")
		s.send(api.FrameControl, []byte(`{"type":"detach"}`))
		untilControl(t, s, "detached")
		wantEnd(t, s)
		if !ts.list[0].Info().Running {
			t.Error("the program has ended")
		}
	})
}

func TestReadOnlyInputIsRefused(t *testing.T) {
	both(t, func(t *testing.T, _ *harness, ts *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach?readOnly=1")
		s.send(api.FrameData, []byte("x"))
		if _, c := untilControl(t, s, "refused"); c.Error.Code != api.CodeDenied {
			t.Errorf("%+v", c.Error)
		}
		ts.ptys[0].print("still here")
		if k, b, err := s.next(); err != nil || k != api.FrameData || string(b) != "still here" {
			t.Errorf("%q %v", b, err)
		}
	})
}

func TestTerminalProtocolErrors(t *testing.T) {
	both(t, func(t *testing.T, _ *harness, _ *fakeTerminals, open func(string) termStream) {
		for _, control := range []string{"{", `{"type":"fly"}`, `{"type":"resize","cols":-1,"rows":2}`} {
			s := open("/sandboxes/box/terminals/0/attach")
			s.send(api.FrameControl, []byte(control))
			if _, c := untilControl(t, s, "error"); c.Error.Code != api.CodeInvalid {
				t.Errorf("%+v", c.Error)
			}
			wantEnd(t, s)
		}
	})
}

func TestShutdownDetachesViewers(t *testing.T) {
	both(t, func(t *testing.T, h *harness, _ *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach")
		untilControl(t, s, "attached")
		var stopped sync.WaitGroup
		stopped.Go(h.stop)
		if _, c := untilControl(t, s, "detached"); c.Reason == "" {
			t.Error("no reason")
		}
		wantEnd(t, s)
		stopped.Wait()
	})
}

func TestVanishedViewerIsNoticed(t *testing.T) {
	both(t, func(t *testing.T, h *harness, ts *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach")
		untilControl(t, s, "attached")
		s.close()
		h.stop() // waits for the handler
		if n := ts.list[0].Info().Clients; n != 0 {
			t.Errorf("%d clients", n)
		}
	})
}

func TestOnlyWebClientsAreFiltered(t *testing.T) {
	h, ts := newTerminalHarness(t)
	h.web("/sandboxes/box/terminals/0/attach").send(api.FrameData, []byte("a\x04b"))
	p := ts.ptys[0]
	p.await(func() bool { return string(p.in) == "ab" })
	h.frames("/sandboxes/box/terminals/0/attach").send(api.FrameData, []byte("\x04"))
	p.await(func() bool { return string(p.in) == "ab\x04" })
}

func TestForeignOriginsAreRefused(t *testing.T) {
	h, _ := newTerminalHarness(t)
	for _, path := range []string{"/sandboxes/box/terminals/0/attach", "/sandboxes/box/exec/attach"} {
		for origin, allowed := range map[string]bool{"http://coop": true, "http://evil.example": false, "null": false, "http://coop.evil.example": false} {
			c, res, err := websocket.Dial(context.Background(), "ws://coop"+api.Prefix+path,
				&websocket.DialOptions{HTTPClient: h.client, HTTPHeader: http.Header{"Origin": {origin}}})
			if allowed != (err == nil) {
				t.Errorf("%s from %s: %v", path, origin, err)
			}
			if err == nil {
				c.CloseNow()
			} else if res.StatusCode != http.StatusForbidden {
				t.Errorf("status %d", res.StatusCode)
			}
		}
	}
}

func TestExecOverWebSocket(t *testing.T) {
	h, _ := newTerminalHarness(t)
	s := h.web("/sandboxes/box/exec/attach")
	s.send(api.FrameControl, []byte(`{"command":"cat; echo err >&2; exit 3","interactive":true}`))
	untilControl(t, s, "started")
	s.send(api.FrameData, []byte("\x00hello"))
	s.send(api.FrameControl, []byte(`{"type":"closeStdin"}`))
	out, c := untilControl(t, s, "exit")
	if !strings.Contains(out, "\x00hello") || !strings.Contains(out, "\x02err\n") || c.Exit.ExitCode != 3 {
		t.Errorf("%q %+v", out, c.Exit)
	}
	wantEnd(t, s)
}

func TestExecOverWebSocketIsRefused(t *testing.T) {
	h, _ := newTerminalHarness(t)
	for _, first := range []string{"{", `{"nope":1}`, `{"command":""}`} {
		s := h.web("/sandboxes/box/exec/attach")
		s.send(api.FrameControl, []byte(first))
		if _, c := untilControl(t, s, "error"); c.Error.Code != api.CodeInvalid {
			t.Errorf("%s: %+v", first, c.Error)
		}
		wantEnd(t, s)
	}
}

func TestVanishedWebSocketKillsItsExec(t *testing.T) {
	h, _ := newTerminalHarness(t)
	s := h.web("/sandboxes/box/exec/attach")
	s.send(api.FrameControl, []byte(`{"command":"sleep 1000"}`))
	untilControl(t, s, "started")
	x := happens(t, h.engine.execs, "the start")
	s.close()
	happens(t, x.finished, "the end")
}

func TestSplit(t *testing.T) {
	long := []byte(strings.Repeat("x", 25))
	var got []int
	for _, g := range split([][]byte{long[:3], long, long[:4], {}, long[:10]}, 10) {
		got = append(got, total(g))
	}
	if !slices.Equal(got, []int{3, 10, 10, 9, 10}) {
		t.Errorf("%v", got)
	}
}

// A client that is there and does not read gets a fresh screen later, and the
// program has not waited for it.
func TestStalledViewerIsResynchronised(t *testing.T) {
	both(t, func(t *testing.T, _ *harness, ts *fakeTerminals, open func(string) termStream) {
		s := open("/sandboxes/box/terminals/0/attach")
		for range 100 {
			ts.ptys[0].print(strings.Repeat("a line of sixty-four characters, of which the last two are\r\n", 1024))
		}
		ts.ptys[0].print("the end")
		lagged := false
		for seen := ""; !strings.Contains(seen, "the end"); {
			kind, b, err := s.next()
			must(t, err)
			if kind != api.FrameControl {
				seen = seen[max(0, len(seen)-10):] + string(b)
				continue
			}
			var c api.Control
			must(t, json.Unmarshal(b, &c))
			lagged = lagged || c.Lagged
		}
		if !lagged {
			t.Error("six megabytes waited for a client that did not read")
		}
	})
}

func TestDeadWebSocketIsNoticed(t *testing.T) {
	h, ts := newTerminalHarness(t)
	h.server.pinging = pinging{every: time.Millisecond, wait: 50 * time.Millisecond}
	s := h.web("/sandboxes/box/terminals/0/attach") // never reads, so it never answers
	h.server.active.Wait()
	if n := ts.list[0].Info().Clients; n != 0 {
		t.Errorf("%d clients", n)
	}
	s.close()
}
