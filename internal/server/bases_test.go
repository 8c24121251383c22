package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/base"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// fakeBases reports some progress and ends with an error or a base.
type fakeBases struct {
	progress []engine.BuildProgress
	err      error
	req      engine.BuildRequest
}

func (f *fakeBases) Build(_ context.Context, req engine.BuildRequest, report func(engine.BuildProgress)) (image.Image, error) {
	f.req = req
	for _, p := range f.progress {
		report(p)
	}
	return image.Image{Digest: "sha256:b", Base: &image.Base{Image: req.Image, Steps: []string{"run x"}}}, f.err
}

func (f *fakeBases) Base(_ context.Context, ref string, b sandbox.Build) (engine.BaseState, error) {
	if f.err != nil {
		return engine.BaseState{}, f.err
	}
	steps := base.Steps(&b)
	return engine.BaseState{Plan: engine.BasePlan{Image: ref, Steps: steps}, Cached: make([]bool, len(steps))}, nil
}

func withBases(f *fakeBases) func(*Config) { return func(c *Config) { c.Bases = f } }

func buildEvents(t *testing.T, a answer) (list []api.BuildEvent) {
	t.Helper()
	if ct := a.Header.Get("Content-Type"); ct != "application/x-ndjson" {
		t.Errorf("content type %q", ct)
	}
	for s := bufio.NewScanner(bytes.NewReader(a.body)); s.Scan(); {
		var e api.BuildEvent
		must(t, json.Unmarshal(s.Bytes(), &e))
		list = append(list, e)
	}
	return list
}

func TestBuildBase(t *testing.T) {
	f := &fakeBases{progress: []engine.BuildProgress{
		{Step: 1, Steps: 2, Text: "a", Status: engine.StepCached},
		{Step: 2, Steps: 2, Text: "b", Status: engine.StepOutput, Output: []byte("\xff\x00")},
	}}
	h := newHarness(t, withBases(f))
	list := buildEvents(t, h.post("/bases", `{"image":"debian:12","name":"shop","noCache":true,"env":{"http_proxy":"p"},
		"build":{"packages":{"apt":["git"]},"run":["make"],"install":"x"}}`).want(http.StatusOK))
	if len(list) != 3 || list[0].Text != "a" || list[1].Encoding != "base64" || list[1].Output != "/wA=" || list[1].Text != "" {
		t.Errorf("%+v", list)
	}
	if img := list[2].Image; img == nil || img.Role != "base" || img.Base.Image != "debian:12" {
		t.Errorf("%+v", list[2])
	}
	r := f.req
	if r.Image != "debian:12" || r.Name != "shop" || !r.NoCache || r.Env["http_proxy"] != "p" || r.Actor != "uid:1000" ||
		r.Build.Apt[0] != "git" || r.Build.Run[0] != "make" || r.Build.Install != "x" {
		t.Errorf("%+v", r)
	}
}

func TestBuildBaseFails(t *testing.T) {
	failure := sandbox.Errorf(sandbox.Conflict, "step 1 of 1 failed").WithHint("look").WithDetail("lastLines", []string{"oops"})
	f := &fakeBases{err: failure}
	h := newHarness(t, withBases(f))
	h.post("/bases", `{"build":{"run":["x"]}}`).wantError(http.StatusConflict, "conflict", "step 1", "look")
	f.progress = []engine.BuildProgress{{Step: 1, Steps: 1, Status: engine.StepRuns}}
	list := buildEvents(t, h.post("/bases", `{"build":{"run":["x"]}}`).want(http.StatusOK))
	if e := list[len(list)-1].Error; e == nil || e.Code != "conflict" || e.Details["lastLines"].([]any)[0] != "oops" {
		t.Errorf("%+v", list)
	}
	f.err = errors.New("broken")
	h.post("/bases/status", `{"build":{}}`).wantError(http.StatusInternalServerError, "internal")
	for _, body := range []string{`{"name":"UPPER"}`, `{"name":"a/b"}`, `{"env":{"=":"x"}}`, `{"unknown":1}`, ``} {
		h.post("/bases", body).wantError(http.StatusBadRequest, "invalid")
	}
	h.post("/bases/status", `{"build":{"packages":{"apt":["x"]}}}`).wantError(http.StatusBadRequest, "invalid", "real image")
	newHarness(t).post("/bases", `{"build":{}}`).wantError(http.StatusNotImplemented, "unsupported")
}

func TestBaseStatus(t *testing.T) {
	h := newHarness(t, withBases(&fakeBases{}))
	var st api.BaseStatus
	h.post("/bases/status", `{"build":{"run":["make"]}}`).want(http.StatusOK).into(&st)
	if st.Image != "host" || len(st.Steps) != 1 || st.Steps[0].Text != "run make" || st.Steps[0].Cached || st.Digest != "" {
		t.Errorf("%+v", st)
	}
}

func TestCreateWithBuild(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes", `{"image":"debian:12","build":{"packages":{"apt":["git"]},"run":["make"]}}`).want(http.StatusCreated)
	if b := h.engine.spec.Build; b == nil || b.Apt[0] != "git" || b.Run[0] != "make" {
		t.Errorf("%+v", b)
	}
	h.post("/sandboxes", `{"build":{"packages":{"pip":["-r x"]}}}`).wantError(http.StatusBadRequest, "invalid", "not the name of a package")
}
