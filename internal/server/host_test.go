package server

import (
	"context"
	"net/http"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestHealth(t *testing.T) {
	var got api.Health
	newHarness(t).get("/health").want(200).into(&got)
	if got.Status != "ok" || got.Driver != "overlayfs" || got.Running != 1 || got.Checks == nil {
		t.Errorf("%+v", got)
	}
	h := newHarness(t, func(c *Config) { c.Checks = func() []api.Check { return []api.Check{{Name: "cgroup", Hint: "h"}} } })
	h.get("/health").want(200).into(&got)
	if got.Status != "degraded" || len(got.Checks) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestDoctor(t *testing.T) {
	newHarness(t).get("/doctor").wantError(501, "unsupported")
	for _, required := range []bool{true, false} {
		h := newHarness(t, func(c *Config) {
			c.Doctor = func(context.Context) ([]api.Check, error) { return []api.Check{{Name: "x", Required: required}}, nil }
		})
		var got api.Doctor
		h.get("/doctor").want(200).into(&got)
		if got.OK == required || got.Mode != "user" {
			t.Errorf("%+v", got)
		}
	}
}

func TestVersion(t *testing.T) {
	var got api.Version
	newHarness(t).get("/version").want(200).into(&got)
	if got.Version != "1.2.3" {
		t.Errorf("%+v", got)
	}
}

func TestAudit(t *testing.T) {
	h := newHarness(t)
	var got api.List[api.AuditEntry]
	h.get("/audit?sandbox=box&limit=9").want(200).into(&got)
	if got.Total != 1 || got.Items[0].Detail != "9" {
		t.Errorf("%+v", got)
	}
	h.get("/audit").want(200)
	h.get("/audit?limit=-1").wantError(400, "invalid", "limit")
	h.get("/audit?sandbox=../x").wantError(404, "not_found")
}

func TestShutdownAnswersFirst(t *testing.T) {
	asked := make(chan bool, 1)
	h := newHarness(t, func(c *Config) { c.Shutdown = func(keep bool) { asked <- keep } })
	h.post("/shutdown?keep=1", "").want(http.StatusNoContent)
	if !happens(t, asked, "shutdown") {
		t.Error("keep was lost")
	}
	h.post("/shutdown", "").want(http.StatusNoContent)
	if happens(t, asked, "shutdown") {
		t.Error("keep was made up")
	}
	h.post("/shutdown?keep=yes", "").wantError(400, "invalid", "keep")
	newHarness(t).post("/shutdown", "").wantError(501, "unsupported")
}

func TestProcesses(t *testing.T) {
	h := newHarness(t)
	var got api.List[api.Process]
	h.get("/sandboxes/box/processes").want(200).into(&got)
	if got.Total != 1 || got.Items[0].PID != 7 || got.Items[0].CPUMs != 1000 || got.Items[0].StartedMs != 60000 {
		t.Errorf("%+v", got)
	}
	h.do("DELETE", "/api/v1/sandboxes/box/processes/7", "").want(http.StatusNoContent)
	h.do("DELETE", "/api/v1/sandboxes/box/processes/8?signal=kill", "").want(http.StatusNoContent)
	if c := h.engine.calls; c[1] != "signal 7 SIGTERM" || c[2] != "signal 8 SIGKILL" {
		t.Error(c)
	}
	for _, bad := range []string{"1", "0", "-5", "x", "99999999", "7?signal=", "7?signal=NOPE"} {
		h.do("DELETE", "/api/v1/sandboxes/box/processes/"+bad, "").wantError(400, "invalid")
	}
}
