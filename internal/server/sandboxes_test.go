package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestCreateScopePath(t *testing.T) {
	h := newHarness(t)
	a := h.post("/sandboxes", `{"scopePath":"/src"}`).want(http.StatusCreated)
	var got api.Sandbox
	a.into(&got)
	if got.ID == "" || got.Workspace.Mode != "overlay" || got.Workspace.Source != "/src" || got.Workspace.Path != "/workspace" || !*got.Workspace.Repo {
		t.Errorf("%+v", got)
	}
	if want := api.Prefix + "/sandboxes/" + got.ID; a.Header.Get("Location") != want {
		t.Errorf("location %q, want %q", a.Header.Get("Location"), want)
	}
	if h.engine.options.Actor != "uid:1000" || h.engine.options.IdempotencyKey != "" || h.engine.options.RequestHash != "" {
		t.Errorf("%+v", h.engine.options)
	}
}

func TestCreateEverything(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes", `{"name":"n","workspace":{"source":"/s","mode":"overlay","path":"/w","repo":false},"image":"host",
		"env":{"A":"b"},"network":{"mode":"host"},"limits":{"cpu":1.5,"memory":"64MiB","execTimeout":"2m"},
		"security":{"seccomp":"strict","readonlyRoot":true,"optional":["limits"]},"agent":{"command":"c","args":["d"],"user":"1000"},
		"driver":"overlay","owner":"o","labels":{"k":"v"},"metadata":{"x":[1]},"ttl":"0","mounts":[]}`).want(http.StatusCreated)
	s := h.engine.spec
	if s.Name != "n" || s.Workspace != (sandbox.Workspace{Source: "/s", Mode: "overlay", Path: "/w"}) || s.Network != "host" ||
		s.Limits.MemoryBytes != 64<<20 || s.Limits.ExecTimeout != 2*time.Minute || s.Limits.PIDs != sandbox.DefaultPIDs ||
		!slices.Equal(s.Limits.Asked, []string{"cpu", "memory"}) || s.Security.Seccomp != "strict" || !s.Security.ReadonlyRoot ||
		s.Agent.User != "1000" || s.Owner != "o" || s.Labels["k"] != "v" || s.Env["A"] != "b" {
		t.Errorf("%+v", s)
	}
}

func TestCreateEmptyObjectHasNoWorkspace(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes", `{}`).want(http.StatusCreated)
	if s := h.engine.spec; s.Workspace.Mode != sandbox.ModeNone || s.Workspace.Repo || s.Limits.Asked != nil {
		t.Errorf("%+v", s)
	}
	h.post("/sandboxes", `{"limits":{"pids":64}}`).want(http.StatusCreated)
	if s := h.engine.spec; !slices.Equal(s.Limits.Asked, []string{"pids"}) || s.Limits.PIDs != 64 {
		t.Errorf("%+v", s.Limits)
	}
}

func TestCreateRefuses(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		body   string
		status int
		code   string
		part   string
	}{
		{`{"scopePath":"/a","workspace":{"source":"/b"}}`, 400, "invalid", "scopePath"},
		{`{"workspace":{"source":"/b","mode":"bind","repo":true}}`, 400, "invalid", "workspace.repo"},
		{`{"name":"Bad Name"}`, 400, "invalid", "Bad Name"},
		{`{"limits":{"cpu":-1}}`, 400, "invalid", "negative"},
		{`{"limits":{"memory":-1}}`, 400, "invalid", "limits.memory"},
		{`{"mounts":[{"source":"a/b","target":"/b"}]}`, 400, "invalid", "neither"},
		{`{"mounts":[{"source":"/a","target":"/proc/b"}]}`, 400, "invalid", "kernel"},
		{`{"mounts":[{"source":"/a","target":"/b","seed":"/c"}]}`, 400, "invalid", "seed"},
		{`{"persist":[".x"]}`, 400, "invalid", "project"},
		{`{"scopePath":"/a","persist":["../x"]}`, 400, "invalid", "persist"},
		{`{"cache":["../x"]}`, 400, "invalid", "cache"},
		{`{"workspace":{"reserve":["x"]}}`, 400, "invalid", "reserve"},
		{`{"ttl":"1h"}`, 501, "unsupported", "ttl"},
		{`{"idleTimeout":"1h"}`, 501, "unsupported", "idleTimeout"},
		{`{"network":{"allow":["x"]}}`, 501, "unsupported", "network.allow"},
		{`{"network":{"deny":["x"]}}`, 501, "unsupported", "network.deny"},
		{`{"network":{"publish":["80"]}}`, 501, "unsupported", "network.publish"},
		{`{"workspace":{"source":"/a","commit":"x"}}`, 501, "unsupported", "workspace.commit"},
		{`{"workspace":{"source":"/a","reserve":["../x"]}}`, 400, "invalid", "reserve"},
		{`{"image":"-alpine"}`, 400, "invalid", "alpine"},
		{`{"limits":{"disk":"1GiB"}}`, 501, "unsupported", "disk"},
	} {
		h.post("/sandboxes", c.body).wantError(c.status, c.code, c.part)
	}
	if h.engine.count() != 0 {
		t.Errorf("reached the engine: %v", h.engine.calls)
	}
}

func TestIdempotencyKey(t *testing.T) {
	h := newHarness(t)
	create := func(body string) string {
		t.Helper()
		h.do("POST", "/api/v1/sandboxes", body, "Idempotency-Key", "k-1").want(http.StatusCreated)
		if h.engine.options.IdempotencyKey != "k-1" || len(h.engine.options.RequestHash) != 64 {
			t.Errorf("%+v", h.engine.options)
		}
		return h.engine.options.RequestHash
	}
	a := create(`{"name":"a","env":{"X":"1","Y":"2"}}`)
	if b := create(` { "env":{"Y":"2","X":"1"}, "name":"a" } `); a != b {
		t.Error("the same request has two hashes")
	}
	if c := create(`{"name":"a","env":{"X":"1","Y":"3"}}`); a == c {
		t.Error("two requests have one hash")
	}
	h.engine.replayed = true
	h.do("POST", "/api/v1/sandboxes", `{}`, "Idempotency-Key", "k").want(http.StatusOK)
	for _, bad := range []string{"", "a b", "ä", strings.Repeat("x", 256)} {
		h.do("POST", "/api/v1/sandboxes", `{}`, "Idempotency-Key", bad).wantError(400, "invalid", "Idempotency-Key")
	}
	h.do("POST", "/api/v1/sandboxes", `{}`, "Idempotency-Key", "a", "Idempotency-Key", "b").wantError(400, "invalid", "Idempotency-Key")
}

func TestViewHidesValues(t *testing.T) {
	h := newHarness(t)
	a := h.get("/sandboxes/box").want(http.StatusOK)
	if strings.Contains(string(a.body), "s3cret") {
		t.Errorf("a secret is in the answer: %s", a.body)
	}
	var got api.Sandbox
	a.into(&got)
	if !slices.Equal(got.Env, []string{"A", "TOKEN"}) || got.PID != 42 || got.MergedDir != "/merged" || got.Version != 3 ||
		got.Degraded[0].Fence != "limits" || got.Failure.Step != "mount" || got.Limits.Memory != 64<<20 {
		t.Errorf("%+v", got)
	}
}

func TestList(t *testing.T) {
	h := newHarness(t)
	var got api.List[api.Sandbox]
	h.get("/sandboxes?status=running&owner=o&label=a%3Db&label=c%3D&path=/p&limit=5&cursor=x").want(http.StatusOK).into(&got)
	if got.Total != 7 || len(got.Items) != 1 || got.NextCursor != "abc" {
		t.Errorf("%+v", got)
	}
	f := h.engine.filter
	if f.Status != "running" || f.Owner != "o" || len(f.Labels) != 2 || f.Labels["a"] != "b" || f.Path != "/p" || f.Limit != 5 || f.Cursor != "x" {
		t.Errorf("%+v", f)
	}
	h.get("/sandboxes").want(http.StatusOK)
	if h.engine.filter.Limit != defaultLimit {
		t.Errorf("%+v", h.engine.filter)
	}
}

func TestListRefuses(t *testing.T) {
	h := newHarness(t)
	for query, part := range map[string]string{
		"status=dead": "dead", "limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "limit=": "limit",
		"label=x": "label", "label==x": "label", "label=a%3Db&label=a%3Dc": "label", "path=rel": "path",
		"cursor=%00": "cursor", "stauts=running": "status", "status=running&status=stopped": "twice", "a=%zz": "query",
	} {
		h.get("/sandboxes?"+query).wantError(400, "invalid", part)
	}
	if h.engine.count() != 0 {
		t.Errorf("reached the engine: %v", h.engine.calls)
	}
}

func TestDeleteStopStart(t *testing.T) {
	h := newHarness(t)
	h.do("DELETE", "/api/v1/sandboxes/box", "").want(http.StatusNoContent)
	h.do("DELETE", "/api/v1/sandboxes/box", `{"force":true}`).wantError(400, "invalid", "force")
	h.post("/sandboxes/box/stop", "").want(http.StatusOK)
	if h.engine.grace != defaultGrace {
		t.Errorf("grace %v", h.engine.grace)
	}
	h.post("/sandboxes/box/stop", `{"grace":"0"}`).want(http.StatusOK)
	if h.engine.grace != 0 {
		t.Errorf("grace %v", h.engine.grace)
	}
	h.post("/sandboxes/box/stop", `{"grace":"1m"}`).want(http.StatusOK)
	if h.engine.grace != time.Minute {
		t.Errorf("grace %v", h.engine.grace)
	}
	h.post("/sandboxes/box/stop", `{"version":3}`).wantError(501, "unsupported", "version")
	h.post("/sandboxes/box/stop", `{"grace":5}`).wantError(400, "invalid", "grace")
	h.post("/sandboxes/box/start", "").want(http.StatusOK)
	h.post("/sandboxes/box/start", "{}").want(http.StatusOK)
	h.post("/sandboxes/box/start", `{"x":1}`).wantError(400, "invalid", "x")
}

func TestIllegalRefsDoNotReachTheEngine(t *testing.T) {
	h := newHarness(t)
	for _, id := range []string{"..%2f..", "%2e%2e", "a%00b", "a%2Fb", "A", "-a", "%20", strings.Repeat("a", 64), strings.Repeat("x", 10000), "%ff"} {
		for _, tail := range []string{"", "/processes", "/files?path=/x"} {
			h.get("/sandboxes/"+id+tail).wantError(404, "not_found")
		}
		h.post("/sandboxes/"+id+"/exec", `{"command":"true"}`).wantError(404, "not_found")
		h.do("DELETE", "/api/v1/sandboxes/"+id, "").wantError(404, "not_found")
	}
	if h.engine.count() != 0 {
		t.Errorf("reached the engine: %v", h.engine.calls)
	}
}
