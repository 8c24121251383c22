package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestAttachStreamsBothAndExits(t *testing.T) {
	h := newHarness(t)
	out, errOut, last := h.attach(api.ExecRequest{Command: "echo out; echo err >&2; exit 7"}).rest()
	if out != "out\n" || errOut != "err\n" {
		t.Errorf("stdout %q, stderr %q", out, errOut)
	}
	if last.Type != "exit" || last.Exit.ExitCode != 7 || last.Kept != nil {
		t.Errorf("%+v", last)
	}
	happens(t, (<-h.engine.execs).finished, "finish")
}

func TestAttachExitComesAfterFinish(t *testing.T) {
	for onExit, kept := range map[string]bool{"remove": false, "removeIfUnchanged": true, "keep": true} {
		h := newHarness(t)
		s := h.attach(api.ExecRequest{Command: "true", OnExit: onExit})
		_, _, last := s.rest()
		if last.Kept == nil || *last.Kept != kept {
			t.Errorf("%s: kept %v", onExit, last.Kept)
		}
		select {
		case <-(<-h.engine.execs).finished:
		default:
			t.Errorf("%s: exit came before finish", onExit)
		}
	}
}

func TestAttachStdinAndClose(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "cat", Interactive: true})
	s.send(api.FrameData, "one ")
	s.send(api.FrameData, "")
	s.until("one ")
	s.send(api.FrameData, "two")
	s.send(api.FrameControl, `{"type":"closeStdin"}`)
	s.send(api.FrameControl, `{"type":"resize","cols":80,"rows":24}`)
	if out, _, last := s.rest(); out != "two" || last.Exit.ExitCode != 0 {
		t.Errorf("%q %+v", out, last)
	}
}

func TestAttachLargeBothWays(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "cat", Interactive: true})
	const frames, size = 64, 512 << 10
	sent := make(chan error, 1)
	go func() {
		payload := []byte(strings.Repeat("x", size))
		var err error
		for i := 0; i < frames && err == nil; i++ {
			err = api.WriteFrame(s.conn, api.FrameData, payload)
		}
		if err == nil {
			err = api.WriteFrame(s.conn, api.FrameControl, []byte(`{"type":"closeStdin"}`))
		}
		sent <- err
	}()
	out, _, _ := s.rest()
	must(t, <-sent)
	if len(out) != frames*size {
		t.Errorf("%d bytes of %d", len(out), frames*size)
	}
}

func TestAttachSignals(t *testing.T) {
	for _, name := range []string{"SIGINT", "INT", "2", "int"} {
		h := newHarness(t)
		s := h.attach(api.ExecRequest{Command: "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.01; done"})
		s.until("ready")
		s.send(api.FrameControl, fmt.Sprintf(`{"type":"signal","signal":%q}`, name))
		if out, _, last := s.rest(); out != "got\n" || last.Exit.ExitCode != 5 {
			t.Errorf("%s: %q %+v", name, out, last.Exit)
		}
	}
}

// Less than the queue's size of unread stdin does not keep a signal away; more
// does, and then there is the endpoint beside the stream.
func TestAttachSignalPastUnreadStdin(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "exec sleep 1000", Interactive: true})
	s.send(api.FrameData, strings.Repeat("x", stdinQueueSize/2))
	s.send(api.FrameControl, `{"type":"signal","signal":"TERM"}`)
	if _, _, last := s.rest(); last.Exit == nil || last.Exit.Signal != "SIGTERM" || last.Exit.ExitCode != 143 {
		t.Errorf("%+v", last)
	}
}

func TestAttachSignalBesideFullStream(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "exec sleep 1000", Interactive: true})
	flood(s)
	path := "/sandboxes/box/exec/" + s.id + "/signal"
	h.post(path, `{"signal":"NOPE"}`).wantError(400, "invalid", "NOPE")
	h.post(path, `{"signal":"INT"}`).want(http.StatusNoContent)
	if _, _, last := s.rest(); last.Exit == nil || last.Exit.Signal != "SIGINT" {
		t.Errorf("%+v", last)
	}
	h.post(path, `{"signal":"INT"}`).wantError(404, "not_found")
}

// flood sends stdin, in the background, until the daemon takes no more, and
// returns when the queue is full.
func flood(s *stream) {
	payload := []byte(strings.Repeat("x", api.MaxFrame))
	sent := make(chan int, 16)
	go func() {
		defer close(sent)
		for i := 0; api.WriteFrame(s.conn, api.FrameData, payload) == nil; i++ {
			sent <- i
		}
	}()
	<-sent // in the queue and the pipe
	<-sent // in the reader's hands, which now waits for room
	go func() {
		for range sent { // until the connection closes
		}
	}()
}

func TestAttachClientVanishing(t *testing.T) {
	for name, fill := range map[string]bool{"idle": false, "with the stream full": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			s := h.attach(api.ExecRequest{Command: "echo ready; exec sleep 1000", Interactive: true, OnExit: "remove"})
			s.until("ready")
			if fill {
				flood(s)
			}
			ex := <-h.engine.execs
			must(t, s.conn.Close())
			happens(t, ex.killed, "kill")
			happens(t, ex.finished, "finish")
		})
	}
}

func TestAttachVanishingWhileOutputIsBlocked(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "yes"})
	s.until("y\n")
	ex := <-h.engine.execs
	must(t, s.conn.Close())
	happens(t, ex.killed, "kill")
	happens(t, ex.finished, "finish")
}

func TestAttachDetachLeavesCommandRunning(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "echo ready; read x; yes | head -c 1000000; exit 9", Interactive: true})
	s.until("ready")
	ex := <-h.engine.execs
	s.send(api.FrameControl, `{"type":"detach"}`)
	must(t, s.conn.Close())
	happens(t, ex.finished, "finish")
	select {
	case <-ex.killed:
		t.Error("killed")
	default:
	}
	if out, _ := ex.Wait(context.Background()); out.Code != 9 {
		t.Errorf("%+v", out)
	}
}

func TestAttachMalformedFrames(t *testing.T) {
	control := func(payload string) string {
		var b strings.Builder
		must(t, api.WriteFrame(&b, api.FrameControl, []byte(payload)))
		return b.String()
	}
	for name, c := range map[string]struct {
		bytes string
		part  string
	}{
		"unknown type":     {"\x07\x00\x00\x00\x00", "0x07"},
		"too long":         {"\x00\xff\xff\xff\xff", "4294967295"},
		"stderr":           {"\x02\x00\x00\x00\x01x", "0x02"},
		"not JSON":         {control("{"), "control frame"},
		"unknown control":  {control(`{"type":"boo"}`), "boo"},
		"unknown signal":   {control(`{"type":"signal","signal":"SIGFOO"}`), "SIGFOO"},
		"stdin not wanted": {"\x00\x00\x00\x00\x01x", "interactive"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			s := h.attach(api.ExecRequest{Command: "exec sleep 1000"})
			_, err := io.WriteString(s.conn, c.bytes)
			must(t, err)
			_, _, last := s.rest()
			if last.Type != "error" || last.Error.Code != "invalid" || !strings.Contains(last.Error.Message, c.part) {
				t.Errorf("%+v %+v", last, last.Error)
			}
			ex := <-h.engine.execs
			happens(t, ex.killed, "kill")
			happens(t, ex.finished, "finish")
		})
	}
}

// A client that does not read blocks its own command and nothing else.
func TestAttachSlowClient(t *testing.T) {
	h := newHarness(t)
	slow := h.attach(api.ExecRequest{Command: "head -c 3000000 /dev/zero; echo done >&2"})
	ex := <-h.engine.execs
	if _, _, last := h.attach(api.ExecRequest{Command: "true"}).rest(); last.Type != "exit" {
		t.Errorf("%+v", last)
	}
	h.get("/health").want(200)
	select {
	case <-ex.ended:
		t.Error("the command wrote 3 MB to a client that read nothing")
	default:
	}
	if out, errOut, _ := slow.rest(); len(out) != 3000000 || errOut != "done\n" {
		t.Errorf("%d bytes, stderr %q", len(out), errOut)
	}
}

func TestAttachDoesNotWaitForBackgroundChildren(t *testing.T) {
	h := newHarness(t)
	for range 20 {
		out, _, last := h.attach(api.ExecRequest{Command: "sleep 1000 & head -c 60000 /dev/zero; echo end"}).rest()
		(<-h.engine.execs).Kill()
		if len(out) != 60004 || last.Exit.ExitCode != 0 {
			t.Fatalf("%d bytes, %+v", len(out), last)
		}
	}
}

func TestAttachTimeout(t *testing.T) {
	h := newHarness(t)
	_, _, last := h.attach(api.ExecRequest{Command: "sleep 1000", TimeoutMs: 100}).rest()
	if !last.Exit.TimedOut || last.Exit.ExitCode != api.ExitTimeout {
		t.Errorf("%+v", last.Exit)
	}
}

func TestAttachDaemonShutsDown(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "exec sleep 1000", Interactive: true})
	ex := <-h.engine.execs
	stopped := make(chan struct{})
	go func() { h.stop(); close(stopped) }()
	if _, _, last := s.rest(); last.Type != "error" || last.Error.Code != "unavailable" {
		t.Errorf("%+v", last)
	}
	must(t, s.conn.Close())
	happens(t, stopped, "stop")
	wantUntouched(t, ex)
}

func TestAttachErrorsBeforeUpgradeAreAnswers(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		body, upgrade string
		status        int
		code          string
	}{
		{`{"command":"a"}`, "websocket", 501, "unsupported"},
		{`{"command":"a"}`, "", 400, "invalid"},
		{`{"command":"a","stdin":"x"}`, api.UpgradeProtocol, 400, "invalid"},
		{`{"command":"a","maxOutputBytes":1}`, api.UpgradeProtocol, 400, "invalid"},
		{`{"command":"a","onExit":"explode"}`, api.UpgradeProtocol, 400, "invalid"},
		{`{"comand":"a"}`, api.UpgradeProtocol, 400, "invalid"},
		{`{"command":"/nonexistent","args":[]}`, api.UpgradeProtocol, 400, "invalid"},
	} {
		var header []string
		if c.upgrade != "" {
			header = []string{"Upgrade", c.upgrade}
		}
		_, res := h.upgrade(c.body, header...)
		var e api.ErrorBody
		must(t, json.NewDecoder(res.Body).Decode(&e))
		if res.StatusCode != c.status || e.Error.Code != c.code {
			t.Errorf("%s with %q: %d %+v", c.body, c.upgrade, res.StatusCode, e.Error)
		}
	}
}

func TestAttachNeedsContentLength(t *testing.T) {
	h := newHarness(t)
	req, err := http.NewRequest("POST", "http://coop/api/v1/sandboxes/box/exec/attach", io.MultiReader(strings.NewReader(`{"command":"a"}`)))
	must(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.UpgradeProtocol)
	res, err := h.client.Do(req)
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != 400 {
		t.Error(res.Status)
	}
}

func TestActivityCoversAttach(t *testing.T) {
	h := newHarness(t)
	s := h.attach(api.ExecRequest{Command: "read x", Interactive: true})
	if h.active.Load() != 1 {
		t.Errorf("%d active", h.active.Load())
	}
	s.send(api.FrameControl, `{"type":"closeStdin"}`)
	s.rest()
	must(t, s.conn.Close())
	h.stop()
	if h.active.Load() != 0 {
		t.Errorf("%d active afterwards", h.active.Load())
	}
}
