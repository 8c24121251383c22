package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// route is one endpoint. The table below registers the handlers and writes the
// OpenAPI document, so the two cannot drift apart.
type route struct {
	id       string // operationId
	method   string
	path     string // below api.Prefix, in ServeMux's pattern language
	summary  string
	query    []param
	body     any  // a value of the request's type; nil: no body
	optional bool // the body may be left out
	status   int  // of success
	answer   any  // a value of the answer's type; nil: no content
	handle   func(*Server, http.ResponseWriter, *http.Request) error
}

// param is one query parameter. A request with another one is refused.
type param struct {
	name     string
	summary  string
	kind     string // JSON schema type
	required bool
	repeat   bool
}

// octets stands in the table for a body of plain bytes.
type octets struct{}

func routes() []route {
	return slices.Concat(sandboxRoutes(), execRoutes(), processRoutes(), fileRoutes(), terminalRoutes(),
		diffRoutes(), reviewRoutes(), gcRoutes(), imageRoutes(), baseRoutes(), volumeRoutes(), hostRoutes())
}

func sandboxRoutes() []route {
	return []route{
		{
			id: "createSandbox", method: "POST", path: "/sandboxes", summary: "Create and start a sandbox",
			body: api.CreateRequest{}, status: http.StatusCreated, answer: api.Sandbox{}, handle: (*Server).createSandbox,
		},
		{
			id: "listSandboxes", method: "GET", path: "/sandboxes", summary: "List sandboxes, newest first",
			query: listParams(), status: http.StatusOK, answer: api.List[api.Sandbox]{}, handle: (*Server).listSandboxes,
		},
		{
			id: "getSandbox", method: "GET", path: "/sandboxes/{id}", summary: "Show one sandbox",
			status: http.StatusOK, answer: api.Sandbox{}, handle: (*Server).getSandbox,
		},
		{
			id: "deleteSandbox", method: "DELETE", path: "/sandboxes/{id}", summary: "Remove a sandbox",
			query:  []param{{name: "purge", summary: "1: what is kept for its project too, unless another sandbox of it is left", kind: "string"}},
			status: http.StatusNoContent, handle: (*Server).deleteSandbox,
		},
		{
			id: "stopSandbox", method: "POST", path: "/sandboxes/{id}/stop", summary: "Stop a sandbox: SIGTERM, then SIGKILL after the grace period",
			body: api.StopRequest{}, optional: true, status: http.StatusOK, answer: api.Sandbox{}, handle: (*Server).stopSandbox,
		},
		{
			id: "startSandbox", method: "POST", path: "/sandboxes/{id}/start", summary: "Start a stopped sandbox",
			status: http.StatusOK, answer: api.Sandbox{}, handle: (*Server).startSandbox,
		},
	}
}

func execRoutes() []route {
	return []route{
		{
			id: "exec", method: "POST", path: "/sandboxes/{id}/exec", summary: "Run a command and return its output",
			body: api.ExecRequest{}, status: http.StatusOK, answer: api.ExecResult{}, handle: (*Server).execBuffered,
		},
		{
			id: "attachExec", method: "POST", path: "/sandboxes/{id}/exec/attach", summary: "Run a command with its streams as frames (Upgrade: coop-stream)",
			body: api.ExecRequest{}, status: http.StatusSwitchingProtocols, handle: (*Server).attachExec,
		},
		{
			id: "attachExecWeb", method: "GET", path: "/sandboxes/{id}/exec/attach", summary: "The same as a WebSocket: the first message is the request",
			status: http.StatusSwitchingProtocols, handle: (*Server).attachExecWeb,
		},
		{
			id: "signalExec", method: "POST", path: "/sandboxes/{id}/exec/{exec}/signal", summary: "Signal an attached command beside its stream",
			body: api.SignalRequest{}, status: http.StatusNoContent, handle: (*Server).signalExec,
		},
	}
}

func processRoutes() []route {
	return []route{
		{
			id: "listProcesses", method: "GET", path: "/sandboxes/{id}/processes", summary: "List the processes of a sandbox",
			status: http.StatusOK, answer: api.List[api.Process]{}, handle: (*Server).listProcesses,
		},
		{
			id: "signalProcess", method: "DELETE", path: "/sandboxes/{id}/processes/{pid}", summary: "Signal a process",
			query:  []param{{name: "signal", summary: "SIGTERM unless given", kind: "string"}},
			status: http.StatusNoContent, handle: (*Server).signalProcess,
		},
	}
}

func fileRoutes() []route {
	path := param{name: "path", summary: "absolute path inside", kind: "string", required: true}
	return []route{
		{
			id: "readFile", method: "GET", path: "/sandboxes/{id}/files", summary: "Read a regular file; ranges work",
			query: []param{path}, status: http.StatusOK, answer: octets{}, handle: (*Server).readFile,
		},
		{
			id: "writeFile", method: "PUT", path: "/sandboxes/{id}/files", summary: "Create or replace the content of a regular file",
			query: []param{path, {name: "mode", summary: "octal permissions of a new file, 0644 unless given", kind: "string"}},
			body:  octets{}, status: http.StatusNoContent, handle: (*Server).writeFile,
		},
	}
}

func hostRoutes() []route {
	return []route{
		{
			id: "audit", method: "GET", path: "/audit", summary: "What happened, newest first",
			query: []param{
				{name: "sandbox", summary: "only this sandbox", kind: "string"},
				{name: "path", summary: "only what was applied to this file of the host", kind: "string"},
				{name: "limit", summary: "1 to 1000, 100 unless given", kind: "integer"},
			},
			status: http.StatusOK, answer: api.List[api.AuditEntry]{}, handle: (*Server).audit,
		},
		{
			id: "health", method: "GET", path: "/health", summary: "Whether the daemon works",
			status: http.StatusOK, answer: api.Health{}, handle: (*Server).health,
		},
		{
			id: "doctor", method: "GET", path: "/doctor", summary: "What this host can and cannot do",
			status: http.StatusOK, answer: api.Doctor{}, handle: (*Server).doctor,
		},
		{
			id: "version", method: "GET", path: "/version", summary: "Which daemon this is",
			status: http.StatusOK, answer: api.Version{}, handle: (*Server).version,
		},
		{
			id: "openAPI", method: "GET", path: "/openapi.json", summary: "This document",
			status: http.StatusOK, answer: map[string]any{}, handle: (*Server).serveOpenAPI,
		},
		{
			id: "shutdown", method: "POST", path: "/shutdown", summary: "End the daemon",
			query:  []param{{name: "keep", summary: "1: leave the sandboxes running", kind: "string"}},
			status: http.StatusNoContent, handle: (*Server).shutdown,
		},
	}
}

// mux registers both tables, then one handler a path for methods it has not,
// and one for every other path.
func (s *Server) mux() *http.ServeMux {
	m := http.NewServeMux()
	methods := map[string][]string{}
	add := func(method, path string, h http.Handler) {
		m.Handle(strings.TrimSpace(method+" "+path), h)
		methods[path] = append(methods[path], method)
	}
	for _, rt := range routes() {
		add(rt.method, api.Prefix+rt.path, s.serveRoute(rt))
	}
	for _, l := range later() {
		add(l.method, l.path, s.serve(l.refuse))
	}
	for path, allow := range methods {
		if !slices.Contains(allow, "") {
			m.Handle(path, s.serve(wrongMethod(allow)))
		}
	}
	m.Handle("/", s.serve(noSuchPath))
	return m
}

type handler func(http.ResponseWriter, *http.Request) error

func (s *Server) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

func (s *Server) serveRoute(rt route) http.Handler {
	return s.serve(func(w http.ResponseWriter, r *http.Request) error {
		if err := checkQuery(r, rt.query); err != nil {
			return err
		}
		if rt.body == nil && r.Body != http.NoBody {
			if err := decodeOptional(w, r, &struct{}{}); err != nil {
				return err
			}
		}
		return rt.handle(s, w, r)
	})
}

func wrongMethod(allow []string) handler {
	if slices.Contains(allow, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	list := strings.Join(allow, ", ")
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", list)
		err := sandbox.Errorf(sandbox.Invalid, "method %.16q is not allowed here", r.Method).WithHint("one of %s", list)
		return &statusError{http.StatusMethodNotAllowed, err}
	}
}

func noSuchPath(_ http.ResponseWriter, r *http.Request) error {
	return sandbox.Errorf(sandbox.NotFound, "no such path %.128q", r.URL.Path).
		WithHint("the endpoints are listed at %s/openapi.json", api.Prefix)
}
