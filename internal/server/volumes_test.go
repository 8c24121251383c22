package server

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestVolumeEndpoints(t *testing.T) {
	h := newHarness(t)
	h.post("/volumes", `{"name":"x","seed":"/s"}`).want(http.StatusCreated)
	h.post("/volumes", `{"name":"x","seed":"relative"}`).wantError(400, "invalid", "seed")
	h.post("/volumes", `{"name":"x","size":1}`).wantError(400, "invalid", "size")
	h.do("DELETE", api.Prefix+"/volumes/box", "").want(http.StatusNoContent)
	h.do("DELETE", api.Prefix+"/volumes/UPPER", "").wantError(404, "not_found", "UPPER")
	h.do("DELETE", api.Prefix+"/workspaces/other", "").wantError(404, "not_found", "other")
	h.do("DELETE", api.Prefix+"/sandboxes/box?purge=1", "").want(http.StatusNoContent)
	h.post("/prune", `{"kind":"persist"}`).want(http.StatusOK)
	h.post("/prune", `{"kind":"caches","dryRun":true}`).want(http.StatusOK)
	h.post("/prune", `{"kind":"everything"}`).wantError(400, "invalid", "everything")
	h.post("/caches/promote", `{"sandbox":"../x"}`).wantError(404, "not_found", "sandbox")
	if !slices.ContainsFunc(h.engine.calls, func(c string) bool { return strings.HasPrefix(c, "create volume x /s uid:") }) ||
		!slices.Contains(h.engine.calls, "purge") || !slices.Contains(h.engine.calls, "prune kept") {
		t.Errorf("calls %q", h.engine.calls)
	}
}

func TestWorkspaceFileEndpoints(t *testing.T) {
	h := newHarness(t)
	dir := t.TempDir()
	must(t, h.engine.makeShelf(dir))
	must(t, os.Symlink("/etc/passwd", dir+"/box/link"))
	h.do("PUT", api.Prefix+"/workspaces/box/files?path=a&mode=600", "hello").want(http.StatusNoContent)
	if b := h.get("/workspaces/box/files?path=/a").want(http.StatusOK).body; string(b) != "hello" {
		t.Errorf("read %q", b)
	}
	h.do("PUT", api.Prefix+"/workspaces/box/files?path=a&mode=7777", "x").wantError(400, "invalid", "mode")
	h.post("/workspaces/box/files/mkdir", `{"path":"d/e","parents":true}`).want(http.StatusNoContent)
	h.post("/workspaces/box/files/rename", `{"from":"a","to":"d/e/a"}`).want(http.StatusNoContent)
	h.get("/workspaces/box/files?path=a").wantError(404, "not_found", "a")
	for _, path := range []string{"link", "../box/d", "d", "%00", "d/../../x"} {
		for _, method := range []string{"GET", "PUT"} {
			if a := h.do(method, api.Prefix+"/workspaces/box/files?path="+path, "x"); a.StatusCode < 400 {
				t.Errorf("%s %s: %d", method, path, a.StatusCode)
			}
		}
	}
	h.get("/workspaces/box/files/list?depth=0").wantError(400, "invalid", "depth")
	h.get("/workspaces/box/files/list?depth=65").wantError(400, "invalid", "depth")
	h.do("DELETE", api.Prefix+"/workspaces/box/files?path=d", "").wantError(409, "conflict", "d")
	h.do("DELETE", api.Prefix+"/workspaces/box/files?path=d&recursive=1", "").want(http.StatusNoContent)
	h.do("DELETE", api.Prefix+"/workspaces/box/files?path=.", "").wantError(400, "invalid", "itself")
}
