// Package fakedaemon is a daemon for tests: it speaks the contract over a unix
// socket and keeps its sandboxes in a slice. It runs nothing; what an attached
// command does is a function the test gives. The real server is tested against
// the same client elsewhere.
package fakedaemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
)

// Daemon is one fake. After setting exported fields call Settle, or any other
// method, before the next request.
type Daemon struct {
	Home   string
	Socket string

	PageSize  int                                  // of lists; 0 is no limit
	Degraded  []api.Degraded                       // of new sandboxes
	Processes []api.Process                        // of every sandbox
	Diff      *api.Diff                            // of every sandbox
	Version   api.Version                          // of the daemon
	Fail      func(method, path string) *api.Error // nil goes on
	Signals   chan string                          // sent beside streams; nil makes them come as frames
	Command   func(*Session)                       // what an attached command does
	Terminals Terminals                            // of every sandbox
	Extra     map[string]http.HandlerFunc          // by ServeMux pattern, set before Listen
	Agent     api.Agent                            // of new sandboxes
	Events    []api.ImageEvent                     // while an image is fetched; one with an error is the last
	CutEvents bool                                 // hang up instead of sending the image

	mu        sync.Mutex
	sandboxes []api.Sandbox // newest first
	requests  []string
	creates   []api.CreateRequest
	keys      []string
	tokens    []string
}

// New makes a fake that does not listen yet, with a home short enough for a
// socket.
func New(t testing.TB) *Daemon {
	t.Helper()
	home, err := os.MkdirTemp("", "coop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return &Daemon{Home: home, Socket: filepath.Join(home, "daemon.sock"), Version: api.Version{Version: "dev", PID: 4711, Home: home}}
}

// Start makes a fake that listens until the test ends.
func Start(t testing.TB) *Daemon {
	t.Helper()
	d := New(t)
	d.Listen(t)
	return d
}

// Listen begins to serve.
func (d *Daemon) Listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	d.Serve(t, l)
}

// Serve serves on a listener of the test's choice.
func (d *Daemon) Serve(t testing.TB, l net.Listener) {
	server := &http.Server{Handler: d.handler()}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // ends with ErrServerClosed
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
}

func (d *Daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sandboxes", d.create)
	mux.HandleFunc("GET /api/v1/sandboxes", d.list)
	mux.HandleFunc("GET /api/v1/sandboxes/{ref}", d.get)
	mux.HandleFunc("DELETE /api/v1/sandboxes/{ref}", d.remove)
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/stop", d.become("stopped"))
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/start", d.become("running"))
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/exec", d.exec)
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/exec/attach", d.attach)
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/exec/{exec}/signal", d.signal)
	mux.HandleFunc("GET /api/v1/sandboxes/{ref}/processes", d.processes)
	mux.HandleFunc("DELETE /api/v1/sandboxes/{ref}/processes/{pid}", answer(nil))
	mux.HandleFunc("GET /api/v1/sandboxes/{ref}/files", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "content of %s", r.URL.Query().Get("path"))
	})
	mux.HandleFunc("PUT /api/v1/sandboxes/{ref}/files", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /api/v1/sandboxes/{ref}/diff", d.diff)
	mux.HandleFunc("GET /api/v1/audit", answer(api.List[api.AuditEntry]{Items: []api.AuditEntry{{Event: "create"}}, Total: 1}))
	mux.HandleFunc("GET /api/v1/health", answer(api.Health{Status: "ok", Driver: "overlayfs", Sandboxes: 2, Running: 1}))
	mux.HandleFunc("GET /api/v1/doctor", answer(api.Doctor{OK: true, Mode: "user"}))
	mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, d.Version) })
	mux.HandleFunc("POST /api/v1/shutdown", answer(nil))
	d.terminalRoutes(mux)
	for pattern, h := range d.Extra {
		mux.HandleFunc(pattern, h)
	}
	d.images(mux)
	return d.record(mux)
}

// record notes every request and lets the test make some fail.
func (d *Daemon) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.requests = append(d.requests, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), api.Prefix))
		d.tokens = append(d.tokens, r.Header.Get("Authorization"))
		d.mu.Unlock()
		if d.Fail != nil {
			if e := d.Fail(r.Method, strings.TrimPrefix(r.URL.Path, api.Prefix)); e != nil {
				fail(w, e)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Settle makes fields that were set visible to the requests that follow: a
// request takes the same lock first, and a socket orders no memory.
func (d *Daemon) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

// Requests are all so far, as "GET /sandboxes?path=%2F".
func (d *Daemon) Requests() []string { return snapshot(d, &d.requests) }

// Creates are the bodies of all creates, Keys their idempotency keys.
func (d *Daemon) Creates() []api.CreateRequest { return snapshot(d, &d.creates) }

// Keys are the idempotency keys of all creates.
func (d *Daemon) Keys() []string { return snapshot(d, &d.keys) }

// Authorizations are the headers of that name of all requests.
func (d *Daemon) Authorizations() []string { return snapshot(d, &d.tokens) }

// Sandboxes are those there are.
func (d *Daemon) Sandboxes() []api.Sandbox { return snapshot(d, &d.sandboxes) }

func snapshot[T any](d *Daemon, list *[]T) []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]T(nil), *list...)
}

// Add puts a sandbox in.
func (d *Daemon) Add(sb api.Sandbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sandboxes = append([]api.Sandbox{sb}, d.sandboxes...)
}

func (d *Daemon) create(w http.ResponseWriter, r *http.Request) {
	var req api.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, &api.Error{Code: api.CodeInvalid, Message: err.Error()})
		return
	}
	d.mu.Lock()
	d.creates = append(d.creates, req)
	d.keys = append(d.keys, r.Header.Get("Idempotency-Key"))
	n := len(d.creates)
	d.mu.Unlock()
	sb := api.Sandbox{ID: fmt.Sprintf("id%04d", n), Name: req.Name, Status: "running", Degraded: d.Degraded, Agent: d.Agent, CreatedAt: time.Now()}
	if sb.Name == "" {
		sb.Name = "box-" + strconv.Itoa(n)
	}
	sb.Metadata = req.Metadata
	if req.Workspace != nil {
		sb.Workspace = *req.Workspace
	}
	d.Add(sb)
	reply(w, http.StatusCreated, sb)
}

func (d *Daemon) list(w http.ResponseWriter, r *http.Request) {
	items := []api.Sandbox{}
	for _, sb := range d.Sandboxes() {
		if p := r.URL.Query().Get("path"); p == "" || sb.Workspace.Source == p {
			items = append(items, sb)
		}
	}
	page := api.List[api.Sandbox]{Total: len(items)}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := len(items)
	if d.PageSize > 0 && from+d.PageSize < to {
		to = from + d.PageSize
		page.NextCursor = strconv.Itoa(to)
	}
	page.Items = items[from:to]
	reply(w, 200, page)
}

// find resolves a ref; it answers the request itself when there is none.
func (d *Daemon) find(w http.ResponseWriter, r *http.Request) (api.Sandbox, bool) {
	ref := r.PathValue("ref")
	for _, sb := range d.Sandboxes() {
		if sb.Name == ref || sb.ID == ref {
			return sb, true
		}
	}
	fail(w, &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("no sandbox %q", ref), Hint: "coop ls"})
	return api.Sandbox{}, false
}

func (d *Daemon) get(w http.ResponseWriter, r *http.Request) {
	if sb, ok := d.find(w, r); ok {
		reply(w, 200, sb)
	}
}

func (d *Daemon) remove(w http.ResponseWriter, r *http.Request) {
	gone, ok := d.find(w, r)
	if !ok {
		return
	}
	d.update(func(sb api.Sandbox) (api.Sandbox, bool) { return sb, sb.ID != gone.ID })
	w.WriteHeader(http.StatusNoContent)
}

// Remove takes a sandbox away, by its name.
func (d *Daemon) Remove(name string) {
	d.update(func(sb api.Sandbox) (api.Sandbox, bool) { return sb, sb.Name != name })
}

func (d *Daemon) become(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, ok := d.find(w, r)
		if !ok {
			return
		}
		found.Status = status
		d.update(func(sb api.Sandbox) (api.Sandbox, bool) {
			if sb.ID == found.ID {
				return found, true
			}
			return sb, true
		})
		reply(w, 200, found)
	}
}

func (d *Daemon) update(f func(api.Sandbox) (api.Sandbox, bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var left []api.Sandbox
	for _, sb := range d.sandboxes {
		if sb, keep := f(sb); keep {
			left = append(left, sb)
		}
	}
	d.sandboxes = left
}

func (d *Daemon) exec(w http.ResponseWriter, r *http.Request) {
	var req api.ExecRequest
	_ = json.NewDecoder(r.Body).Decode(&req) // a broken one runs nothing
	if _, ok := d.find(w, r); ok {
		reply(w, 200, api.ExecResult{Stdout: req.Command})
	}
}

func (d *Daemon) signal(w http.ResponseWriter, r *http.Request) {
	var req api.SignalRequest
	if d.Signals == nil || json.NewDecoder(r.Body).Decode(&req) != nil {
		fail(w, &api.Error{Code: api.CodeNotFound, Message: "no such exec"})
		return
	}
	d.Signals <- req.Signal
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) processes(w http.ResponseWriter, r *http.Request) {
	if _, ok := d.find(w, r); ok {
		reply(w, 200, api.List[api.Process]{Items: d.Processes, Total: len(d.Processes)})
	}
}

func answer(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if v == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply(w, 200, v)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func fail(w http.ResponseWriter, e *api.Error) {
	for _, c := range api.Codes() {
		if c.Code == e.Code {
			reply(w, c.HTTP, api.ErrorBody{Error: *e})
			return
		}
	}
	reply(w, http.StatusInternalServerError, api.ErrorBody{Error: *e})
}
