package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

func TestImageEndpoints(t *testing.T) {
	d := fakedaemon.Start(t)
	c := dial(t, client.Options{Socket: d.Socket})
	ctx := t.Context()
	for _, step := range []struct {
		want string
		call func() error
	}{
		{"GET /images", func() error { _, err := c.Images(ctx); return err }},
		{"GET /images/inspect?ref=ghcr.io%2Fa%2Fb%3A1", func() error { _, err := c.Image(ctx, "ghcr.io/a/b:1"); return err }},
		{"DELETE /images?ref=a%40sha256%3A1", func() error { _, err := c.DeleteImage(ctx, "a@sha256:1"); return err }},
		{"POST /images/prune", func() error { _, err := c.PruneImages(ctx, api.ImagePruneRequest{All: true}); return err }},
		{"POST /images/pull", func() error { _, err := c.PullImage(ctx, api.PullRequest{Reference: "x"}, nil); return err }},
		{"POST /images/import", func() error { _, err := c.ImportImage(ctx, api.ImportRequest{Source: "/x"}, nil); return err }},
		{"PUT /images/archive?ref=a%3A1", func() error { _, err := c.UploadImage(ctx, strings.NewReader("x"), "a:1", nil); return err }},
	} {
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.want, err)
		}
		if all := d.Requests(); all[len(all)-1] != step.want {
			t.Errorf("%s, not %s", all[len(all)-1], step.want)
		}
	}
}

func TestPullEvents(t *testing.T) {
	d := fakedaemon.New(t)
	d.Events = []api.ImageEvent{{Layer: "sha256:1", Status: "waiting", Total: 7}, {Layer: "sha256:1", Status: "done", Done: 7, Total: 7}}
	d.Listen(t)
	c := dial(t, client.Options{Socket: d.Socket})
	var seen []api.ImageEvent
	img, err := c.PullImage(t.Context(), api.PullRequest{Reference: "x"}, func(e api.ImageEvent) { seen = append(seen, e) })
	if err != nil || img.Digest == "" || cmp.Diff(d.Events, seen) != "" {
		t.Errorf("%+v, %v, %+v", img, err, seen)
	}
	// An answer that breaks off is not taken for an image.
	d.CutEvents = true
	d.Settle()
	if _, err := c.PullImage(t.Context(), api.PullRequest{Reference: "x"}, nil); !errors.Is(err, client.ErrLost) {
		t.Errorf("%v", err)
	}
	d.Events = append(d.Events, api.ImageEvent{Error: &api.Error{Code: api.CodeInvalid, Message: "wrong digest"}})
	d.Settle()
	var failure *api.Error
	if _, err := c.PullImage(t.Context(), api.PullRequest{Reference: "x"}, nil); !errors.As(err, &failure) || failure.Code != api.CodeInvalid {
		t.Errorf("%v", err)
	}
}
