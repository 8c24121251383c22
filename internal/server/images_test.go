package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// fakeImages has one image, and fetches as the test says.
type fakeImages struct {
	asked any
	fetch func(ctx context.Context, report func(image.Progress)) error
}

func someImage() image.Image {
	return image.Image{
		Digest: "sha256:abc", Platform: "linux/amd64", References: []string{"docker.io/library/x:1"},
		Layers: []image.Layer{{DiffID: "sha256:1", Digest: "sha256:2", Size: 3}, {DiffID: "sha256:4", Digest: "sha256:5", Size: 6}},
		Raw:    json.RawMessage(`{"os":"linux"}`), DiskBytes: 10, Config: image.Config{Cmd: []string{"sh"}},
	}
}

func (f *fakeImages) List(context.Context) ([]image.Image, error) {
	return []image.Image{someImage()}, nil
}

func (f *fakeImages) Get(_ context.Context, ref string) (image.Image, error) {
	f.asked = ref
	return someImage(), nil
}

func (f *fakeImages) Pull(ctx context.Context, req image.PullRequest, report func(image.Progress)) (image.Image, error) {
	f.asked = req
	return someImage(), f.fetch(ctx, report)
}

func (f *fakeImages) Import(ctx context.Context, req image.ImportRequest, report func(image.Progress)) (image.Image, error) {
	f.asked = req
	return someImage(), f.fetch(ctx, report)
}

func (f *fakeImages) Upload(ctx context.Context, archive io.Reader, ref string, report func(image.Progress)) (image.Image, error) {
	b, err := io.ReadAll(archive)
	if err != nil {
		return image.Image{}, err
	}
	f.asked = ref + "=" + string(b)
	return someImage(), f.fetch(ctx, report)
}

func (f *fakeImages) Remove(_ context.Context, ref string) (image.Removed, error) {
	f.asked = ref
	return image.Removed{References: []string{ref}}, nil
}

func (f *fakeImages) Prune(_ context.Context, all bool) (image.Removed, error) {
	f.asked = all
	return image.Removed{Bytes: 7}, nil
}

func imageHarness(t *testing.T) (*harness, *fakeImages) {
	t.Helper()
	f := &fakeImages{fetch: func(context.Context, func(image.Progress)) error { return nil }}
	return newHarness(t, func(c *Config) { c.Images = f }), f
}

func TestImageEndpoints(t *testing.T) {
	h, f := imageHarness(t)
	var list api.List[api.Image]
	must(t, json.Unmarshal(h.get("/images").want(http.StatusOK).body, &list))
	if list.Total != 1 || list.Items[0].SizeBytes != 9 || list.Items[0].Raw != nil || list.Items[0].Sandboxes == nil {
		t.Errorf("%+v", list)
	}
	var img api.Image
	must(t, json.Unmarshal(h.get("/images/inspect?ref=ghcr.io/a/b:1").want(http.StatusOK).body, &img))
	if f.asked != "ghcr.io/a/b:1" || string(img.Raw) != `{"os":"linux"}` {
		t.Errorf("%v: %+v", f.asked, img)
	}
	h.do(http.MethodDelete, api.Prefix+"/images?ref=x@sha256:1", "").want(http.StatusOK)
	if f.asked != "x@sha256:1" {
		t.Error(f.asked)
	}
	h.post("/images/prune", `{"all":true}`).want(http.StatusOK)
	if f.asked != true {
		t.Error(f.asked)
	}
	h.post("/images/prune", "").want(http.StatusOK)
	if f.asked != false {
		t.Error(f.asked)
	}
	list2 := events(t, h.do(http.MethodPut, api.Prefix+"/images/archive?ref=x:1", "bytes").want(http.StatusOK).body)
	if f.asked != "x:1=bytes" || list2[0].Image == nil {
		t.Errorf("%v: %+v", f.asked, list2)
	}
	h.get("/images/inspect").wantError(http.StatusBadRequest, "invalid", "ref")
	h.do(http.MethodDelete, api.Prefix+"/images", "").wantError(http.StatusBadRequest, "invalid", "ref")
	h.post("/images/pull", `{"ref":"x"}`).wantError(http.StatusBadRequest, "invalid", "reference")
	newHarness(t).get("/images").wantError(http.StatusNotImplemented, "unsupported", "images")
}

func events(t *testing.T, body []byte) (list []api.ImageEvent) {
	t.Helper()
	s := bufio.NewScanner(bytes.NewReader(body))
	for s.Scan() {
		var e api.ImageEvent
		must(t, json.Unmarshal(s.Bytes(), &e))
		list = append(list, e)
	}
	return list
}

func TestPullStream(t *testing.T) {
	h, f := imageHarness(t)
	f.fetch = func(_ context.Context, report func(image.Progress)) error {
		report(image.Progress{Status: image.Resolving})
		report(image.Progress{Layer: "sha256:2", Status: image.Waiting, Total: 1000})
		for i := range 1000 { // far more than anybody can look at
			report(image.Progress{Layer: "sha256:2", Status: image.Downloading, Done: int64(i + 1), Total: 1000})
		}
		report(image.Progress{Layer: "sha256:2", Status: image.Done, Total: 1000})
		return nil
	}
	a := h.post("/images/pull", `{"reference":"x:1","plainHttp":true}`).want(http.StatusOK)
	if got := a.Header.Get("Content-Type"); got != "application/x-ndjson" || f.asked != (image.PullRequest{Reference: "x:1", PlainHTTP: true}) {
		t.Errorf("%s, %+v", got, f.asked)
	}
	list := events(t, a.body)
	last := list[len(list)-1]
	if last.Image == nil || last.Image.Digest != "sha256:abc" || len(list) < 4 || len(list) > 200 {
		t.Errorf("%d events, the last %+v", len(list), last)
	}
	if before := list[len(list)-3]; before.Done != 1000 || before.Status != "downloading" {
		t.Errorf("the last number is missing: %+v", before)
	}
}

// TestPullErrors: before the first line an error is an answer of its own, later
// it is the last line.
func TestPullErrors(t *testing.T) {
	h, f := imageHarness(t)
	f.fetch = func(_ context.Context, report func(image.Progress)) error {
		report(image.Progress{Status: image.Resolving})
		return sandbox.Errorf(sandbox.NotFound, "no such image").WithHint("check it")
	}
	h.post("/images/pull", `{"reference":"x:1"}`).wantError(http.StatusNotFound, "not_found", "no such image")
	f.fetch = func(_ context.Context, report func(image.Progress)) error {
		report(image.Progress{Layer: "sha256:2", Status: image.Waiting})
		return sandbox.Errorf(sandbox.Invalid, "wrong digest").WithHint("try another")
	}
	list := events(t, h.post("/images/import", `{"source":"oci:/x"}`).want(http.StatusOK).body)
	if e := list[len(list)-1].Error; e == nil || e.Code != "invalid" || e.Hint != "try another" || !strings.Contains(e.Message, "wrong digest") {
		t.Errorf("%+v", list)
	}
}

// TestPullEndsWithItsClient: and with the daemon.
func TestPullEndsWithItsClient(t *testing.T) {
	h, f := imageHarness(t)
	begun, ended := make(chan struct{}, 2), make(chan error, 2)
	f.fetch = func(ctx context.Context, report func(image.Progress)) error {
		report(image.Progress{Layer: "sha256:2", Status: image.Waiting})
		begun <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return context.Cause(ctx)
	}
	pull := func(ctx context.Context) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://coop"+api.Prefix+"/images/pull", strings.NewReader(`{"reference":"x"}`))
		must(t, err)
		if resp, err := h.client.Do(req); err == nil {
			_, _ = bufio.NewReader(resp.Body).ReadString(0) // until it ends
			resp.Body.Close()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); pull(ctx) }()
	<-begun
	cancel()
	<-gone
	wait(t, ended)
	gone = make(chan struct{})
	go func() { defer close(gone); pull(t.Context()) }()
	<-begun
	h.stop()
	if err := wait(t, ended); !errors.Is(err, errClosing) {
		t.Errorf("%v", err)
	}
	<-gone
}

func wait(t *testing.T, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		t.Fatal("it did not end")
		return nil
	}
}
