package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
)

func (e *fakeEngine) GC(_ context.Context, p engine.GCPolicy, _ string) (engine.Collection, error) {
	g := engine.Garbage{ID: "1", Name: "old", Reason: "stopped", Bytes: 5}
	return engine.Collection{Collected: []engine.Garbage{g}, TotalBytes: 7 + p.MaxTotalBytes}, e.called("gc", strings.Join(p.Named, ","))
}

func TestGC(t *testing.T) {
	p, err := gcPolicy(api.GCRequest{Statuses: []string{"running"}, Sandboxes: []string{"a"}})
	if err != nil || len(p.Statuses) != 1 || p.Named[0] != "a" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []api.GCRequest{
		{Statuses: []string{"deleted"}},
		{Statuses: []string{"creating"}},
		{Statuses: []string{"no\n"}},
		{Sandboxes: []string{"../x"}},
		{OlderThan: -1},
	} {
		if _, err := gcPolicy(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestGCRoute(t *testing.T) {
	for _, rt := range gcRoutes() {
		if rt.method != http.MethodPost || !rt.optional {
			t.Errorf("%+v", rt)
		}
	}
}
