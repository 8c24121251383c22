package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

func (h *harness) exec(body string) api.ExecResult {
	h.t.Helper()
	var res api.ExecResult
	h.post("/sandboxes/box/exec", body).want(http.StatusOK).into(&res)
	return res
}

func execBody(t *testing.T, req api.ExecRequest) string {
	t.Helper()
	b, err := json.Marshal(req)
	must(t, err)
	return string(b)
}

func TestExecKeepsStreamsApart(t *testing.T) {
	h := newHarness(t)
	res := h.exec(`{"command":"echo out; echo err >&2; exit 3"}`)
	if res.ExitCode != 3 || res.Stdout != "out\n" || res.Stderr != "err\n" || res.Truncated || res.TimedOut || res.Encoding != "" {
		t.Errorf("%+v", res)
	}
}

func TestExecDirectOrThroughShell(t *testing.T) {
	h := newHarness(t)
	if res := h.exec(`{"command":"/bin/echo","args":["$HOME","a b"]}`); res.Stdout != "$HOME a b\n" {
		t.Errorf("direct: %+v", res)
	}
	if res := h.exec(`{"command":"/bin/echo","args":[]}`); res.Stdout != "\n" {
		t.Errorf("direct without arguments: %+v", res)
	}
	if res := h.exec(`{"command":"echo $X","env":{"X":"y"}}`); res.Stdout != "y\n" {
		t.Errorf("shell: %+v", res)
	}
}

func TestExecSignalAndTimeout(t *testing.T) {
	h := newHarness(t)
	if res := h.exec(`{"command":"kill -9 $$"}`); res.ExitCode != 137 || res.Signal != "SIGKILL" {
		t.Errorf("killed: %+v", res)
	}
	res := h.exec(`{"command":"echo early; sleep 1000","timeoutMs":200}`)
	if !res.TimedOut || res.ExitCode != api.ExitTimeout || res.Stdout != "early\n" {
		t.Errorf("timed out: %+v", res)
	}
}

func TestExecStdin(t *testing.T) {
	h := newHarness(t)
	if res := h.exec(`{"command":"cat","stdin":"hällo"}`); res.Stdout != "hällo" {
		t.Errorf("%+v", res)
	}
	raw := []byte{0, 0xff, 0xfe}
	res := h.exec(execBody(t, api.ExecRequest{Command: "cat", Stdin: base64.StdEncoding.EncodeToString(raw), StdinEncoding: "base64"}))
	if got, err := base64.StdEncoding.DecodeString(res.Stdout); res.Encoding != "base64" || err != nil || !bytes.Equal(got, raw) {
		t.Errorf("%+v", res)
	}
	large := strings.Repeat("x", 4<<20)
	if res := h.exec(execBody(t, api.ExecRequest{Command: "cat", Stdin: large})); res.Stdout != large {
		t.Errorf("%d bytes came back of %d", len(res.Stdout), len(large))
	}
	if res := h.exec(execBody(t, api.ExecRequest{Command: "exec true", Stdin: large})); res.ExitCode != 0 {
		t.Errorf("a command that does not read: %+v", res)
	}
}

// Children in the background hold the pipes; the answer must neither wait for
// them nor miss what the main process wrote.
func TestExecDoesNotWaitForBackgroundChildren(t *testing.T) {
	h := newHarness(t)
	for range 20 {
		res := h.exec(`{"command":"sleep 1000 & head -c 60000 /dev/zero | tr '\\0' x; echo end"}`)
		ex := <-h.engine.execs
		ex.Kill()
		if len(res.Stdout) != 60004 || !strings.HasSuffix(res.Stdout, "end\n") {
			t.Fatalf("%d bytes", len(res.Stdout))
		}
	}
}

// A child that never stops writing must not keep the drain going.
func TestExecDrainIsBounded(t *testing.T) {
	h := newHarness(t)
	res := h.exec(`{"command":"yes & until [ \"$(cat /proc/$!/comm)\" = yes ]; do :; done; exit 4","maxOutputBytes":1000}`)
	(<-h.engine.execs).Kill()
	if res.ExitCode != 4 {
		t.Errorf("exit %d, stderr %s", res.ExitCode, res.Stderr)
	}
}

func TestExecOutputIsBounded(t *testing.T) {
	h := newHarness(t)
	res := h.exec(`{"command":"printf abcdef; printf xyz >&2","maxOutputBytes":4}`)
	if res.Stdout != "abcd" || res.Stderr != "xyz" || !res.Truncated {
		t.Errorf("%+v", res)
	}
	if res := h.exec(`{"command":"printf abcd","maxOutputBytes":4}`); res.Truncated {
		t.Error("exactly the limit is not truncated")
	}
	if res := h.exec(`{"command":"printf aäöü","maxOutputBytes":4}`); res.Stdout != "aä" || res.Encoding != "" {
		t.Errorf("half a character: %+v", res)
	}
}

func TestExecLargeOutputDoesNotGrowTheDaemon(t *testing.T) {
	h := newHarness(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := h.exec(`{"command":"head -c 1000000000 /dev/zero","maxOutputBytes":65536}`)
	runtime.ReadMemStats(&after)
	if !res.Truncated {
		t.Error("not truncated")
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("1 GB of output allocated %d bytes", grown)
	}
}

func TestExecKillsTreeOfVanishedClient(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", "http://coop/api/v1/sandboxes/box/exec", strings.NewReader(`{"command":"sleep 1000"}`))
	must(t, err)
	done := make(chan error, 1)
	go func() {
		res, err := h.client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	ex := happens(t, h.engine.execs, "start")
	cancel()
	if <-done == nil {
		t.Error("the client got an answer")
	}
	happens(t, ex.killed, "kill")
	happens(t, ex.finished, "finish")
}

func TestExecRefuses(t *testing.T) {
	h := newHarness(t)
	long := strings.Repeat("x", 128<<10)
	for _, c := range []struct {
		body   string
		status int
		code   string
		part   string
	}{
		{`{"command":""}`, 400, "invalid", "command"},
		{`{"command":"a","timeoutMs":-1}`, 400, "invalid", "timeoutMs"},
		{`{"command":"a","timeoutMs":9223372036854775807}`, 400, "invalid", "timeoutMs"},
		{`{"command":"a","maxOutputBytes":-1}`, 400, "invalid", "maxOutputBytes"},
		{`{"command":"a","maxOutputBytes":67108865}`, 400, "invalid", "maxOutputBytes"},
		{`{"command":"a","shell":"s"}`, 501, "unsupported", "shell"},
		{`{"command":"a","allowNetwork":false}`, 501, "unsupported", "allowNetwork"},
		{`{"command":"a","interactive":true}`, 400, "invalid", "attach"},
		{`{"command":"a","onExit":"remove"}`, 400, "invalid", "attach"},
		{`{"command":"a","stdin":"!","stdinEncoding":"base64"}`, 400, "invalid", "base64"},
		{`{"command":"a","stdinEncoding":"hex"}`, 400, "invalid", "stdinEncoding"},
		{`{"command":"a","user":"a b"}`, 400, "invalid", "user"},
		{`{"command":"a","env":{"A=B":"c"}}`, 400, "invalid", "environment"},
		{`{"command":"a\u0000"}`, 400, "invalid", "NUL"},
		{`{"command":"a","args":["` + long + `"]}`, 413, "too_large", "argument"},
		{`{"command":"a","comand":"b"}`, 400, "invalid", "command"},
	} {
		h.post("/sandboxes/box/exec", c.body).wantError(c.status, c.code, c.part)
	}
	if n := h.engine.count(); n != 0 {
		t.Errorf("%d calls reached the engine", n)
	}
	h.post("/sandboxes/nobox/exec", `{"command":"a"}`).wantError(404, "not_found")
}

func TestExecAnswersWhenDaemonShutsDown(t *testing.T) {
	h := newHarness(t)
	got := make(chan answer, 1)
	go func() { got <- h.post("/sandboxes/box/exec", `{"command":"sleep 1000"}`) }()
	ex := happens(t, h.engine.execs, "start")
	h.stop()
	happens(t, got, "answer").wantError(503, "unavailable", "shutting down", "keeps running")
	wantUntouched(t, ex)
}

// wantUntouched checks that a shutdown neither killed nor finished an exec,
// then does both.
func wantUntouched(t *testing.T, ex *fakeExec) {
	t.Helper()
	select {
	case <-ex.killed:
		t.Error("killed")
	case <-ex.finished:
		t.Error("finished")
	case <-ex.ended:
		t.Error("ended")
	default:
	}
	ex.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := ex.Wait(ctx)
	must(t, err)
	ex.close()
}

func BenchmarkCapture(b *testing.B) {
	piece := make([]byte, pumpBuffer)
	b.SetBytes(pumpBuffer)
	c := &capture{limit: 1 << 20}
	for b.Loop() {
		c.take(piece)
	}
}
