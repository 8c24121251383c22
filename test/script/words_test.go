package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/test/harness"
)

// The words of the stories:
//
//	code N CMD…            run CMD, which must exit with status N
//	fails N CMD…           the same, and it must say why in one line with a hint,
//	                       and nothing on stdout
//	silent                 nothing was said on stderr
//	api METHOD PATH [FILE] [HEADER=VALUE]…
//	                       ask the daemon; stdout is "201" and the body.
//	                       ! api: the answer must be an error with code and message
//	json PATH [VALUE]      look into the JSON on stdout: .items[0].name
//	capture NAME           put the last stdout, trimmed, into a variable
//	home DIR               use a COOP_HOME, and a daemon, of this story's own
//	mine FILE…             the files belong to who runs the tests
//	write FILE SIZE        make a file of SIZE random bytes
//	rootfs FILE            make a root filesystem of programs of the host, as a tar
//	ended                  wait for the end of the daemon
//	registry               serve images of busybox; see registry_test.go
//	expand FILE…           replace $NAME in files by the variables of the story
//
// Conditions: [mode:root], [mode:user], [mode:user-single-id], [busybox].
func words() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"code": code, "fails": fails, "api": api, "json": lookInto, "capture": capture, "home": home, "mine": mine, "silent": silent, "write": write, "expand": expand, "ended": ended, "registry": registry, "rootfs": rootfsWord,
	}
}

func condition(mode, cond string) (bool, error) {
	if cond == "busybox" {
		_, err := exec.LookPath("busybox")
		return err == nil || os.Getenv("CI") == "true", nil // in CI its absence must fail
	}
	if want, ok := strings.CutPrefix(cond, "mode:"); ok {
		return mode == want, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

// complaint is the shape of every error a person sees.
var complaint = regexp.MustCompile(`^coop: [^\n]+\nhint: [^\n]+\n$`)

func fails(ts *testscript.TestScript, neg bool, args []string) {
	code(ts, neg, args)
	if stderr := said(ts); !complaint.MatchString(stderr) {
		ts.Fatalf("not one line and a hint: %q", stderr)
	}
	if stdout := ts.ReadFile("stdout"); stdout != "" {
		ts.Fatalf("output of a command that failed: %q", stdout)
	}
}

// said is stderr without what a host that lacks control groups adds for every
// new sandbox.
func said(ts *testscript.TestScript) string {
	var kept []string
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "coop: warning: degraded: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func silent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: silent")
	}
	if s := said(ts); s != "" {
		ts.Fatalf("stderr: %q", s)
	}
}

func api(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: api METHOD PATH [FILE] [HEADER=VALUE]…")
	}
	var body io.Reader
	header := http.Header{}
	for _, arg := range args[2:] {
		if k, v, ok := strings.Cut(arg, "="); ok {
			header.Set(k, v)
			continue
		}
		body = strings.NewReader(ts.ReadFile(arg))
		header.Set("Content-Type", "application/json")
	}
	resp, answer := ask(ts, args[0], args[1], body, header)
	fmt.Fprintf(ts.Stdout(), "%s\n", answer)
	fmt.Fprintf(ts.Stderr(), "%d\n", resp.StatusCode)
	if resp.Header.Get("X-Request-Id") == "" {
		ts.Fatalf("no X-Request-Id")
	}
	if failed := resp.StatusCode >= 400; failed != neg {
		ts.Fatalf("%s", resp.Status)
	}
	if neg {
		wantError(ts, answer)
	}
}

func ask(ts *testscript.TestScript, method, path string, body io.Reader, header http.Header) (*http.Response, []byte) {
	socket := ts.Getenv("COOP_HOME") + "/daemon.sock"
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return client.DialUnix(ctx, socket) }}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://coop/api/v1"+path, body)
	ts.Check(err)
	req.Header = header
	resp, err := transport.RoundTrip(req)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return resp, bytes.TrimSpace(answer)
}

func wantError(ts *testscript.TestScript, answer []byte) {
	var e struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(answer, &e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
		ts.Fatalf("not an error of the contract: %s", answer)
	}
}

// lookInto compares one value of the JSON on stdout. Without a value it only
// must be there; with ! it must not.
func lookInto(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [VALUE]")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	found, ok := walk(v, args[0])
	got := fmt.Sprint(found)
	if _, isString := found.(string); !isString {
		b, err := json.Marshal(found)
		ts.Check(err)
		got = string(b)
	}
	if matches := ok && (len(args) == 1 || got == args[1]); matches == neg {
		ts.Fatalf("%s: %s", args[0], got)
	}
}

// walk follows .a.b[0].
func walk(v any, path string) (any, bool) {
	for _, step := range regexp.MustCompile(`[^.\[\]]+`).FindAllString(path, -1) {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(at) {
				return nil, false
			}
			v = at[n]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func home(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: home DIR")
	}
	own := harness.Instance{Dir: ts.MkAbs(args[0])}
	ts.Setenv("COOP_HOME", own.Dir)
	ts.Defer(func() {
		if left := own.Sweep(harness.Bin()); len(left) > 0 {
			ts.Fatalf("left behind:\n%v", errors.Join(left...))
		}
	})
}

func mine(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		info, err := os.Lstat(ts.MkAbs(name))
		ts.Check(err)
		st := info.Sys().(*syscall.Stat_t)
		if is := int(st.Uid) == os.Getuid() && int(st.Gid) == os.Getgid(); is == neg {
			ts.Fatalf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}

func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write FILE SIZE")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	random, err := os.Open("/dev/urandom")
	ts.Check(err)
	defer random.Close()
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = io.CopyN(f, random, n)
	ts.Check(errors.Join(err, f.Close()))
}

func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE…")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}
