package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

// answerLines answers with events, and remembers the request.
func answerLines(got *api.BuildRequest, events ...api.BuildEvent) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(got) // a bad one shows in the comparison
		for _, e := range events {
			_ = json.NewEncoder(w).Encode(e)
		}
	}
}

// building makes a fake daemon that answers builds with events.
func building(t *testing.T, events ...api.BuildEvent) (*world, *api.BuildRequest) {
	t.Helper()
	got := &api.BuildRequest{}
	w := unstarted(t)
	w.daemon.Extra = map[string]http.HandlerFunc{"POST /api/v1/bases": answerLines(got, events...)}
	w.daemon.Listen(t)
	return w, got
}

func TestRebuild(t *testing.T) {
	w, got := building(t,
		api.BuildEvent{Step: 1, Steps: 2, Text: "run a", Status: "cached"},
		api.BuildEvent{Step: 2, Steps: 2, Text: "run b", Status: "running"},
		api.BuildEvent{Step: 2, Steps: 2, Status: "output", Output: "aGVsbG8gG1szMW1yZWQbWzBt", Encoding: "base64"},
		api.BuildEvent{Step: 2, Steps: 2, Text: "run b", Status: "done"},
		api.BuildEvent{Image: &api.Image{Digest: "sha256:b"}},
	)
	t.Setenv("https_proxy", "http://proxy")
	here(t, "p")
	writeFile(t, "coop.toml", "[base]\nimage = \"debian:12\"\n[setup]\nrun = [\"a\", \"b\"]\n")
	const said = "coop: step 1/2: run a: unchanged\ncoop: step 2/2: run b\nhello red\n"
	w.want(t, 0, "sha256:b\n", said, "rebuild")
	if got.Image != "debian:12" || len(got.Build.Run) != 2 || !strings.HasPrefix(got.Name, "p-") || got.NoCache || got.Env["https_proxy"] != "http://proxy" {
		t.Errorf("%+v", got)
	}
	w.want(t, 0, "sha256:b\n", said, "build", "--no-cache")
	if !got.NoCache {
		t.Error("with the cache")
	}
	w.want(t, 0, "sha256:b\n", "", "-q", "rebuild")
	w.want(t, 0, "sha256:b\n", "coop: coop.toml is there already\n"+said, "init")
}

func TestRebuildFails(t *testing.T) {
	failure := &api.Error{
		Code: "conflict", Message: "step 1 of 1 failed: sh: exit status 1", Hint: "look into it with: coop shell build-x",
		Details: map[string]any{"lastLines": []string{"oops\x1b[2J"}},
	}
	w, _ := building(t,
		api.BuildEvent{Step: 1, Steps: 1, Text: "run a", Status: "running"},
		api.BuildEvent{Step: 1, Steps: 1, Status: "output", Output: "oops\n"},
		api.BuildEvent{Error: failure},
	)
	here(t, "p")
	writeFile(t, "coop.toml", "[setup]\nrun = [\"a\"]\n")
	const end = "coop: step 1 of 1 failed: sh: exit status 1\nhint: look into it with: coop shell build-x\n"
	w.want(t, 1, "", "coop: step 1/1: run a\noops\n"+end, "rebuild")
	w.want(t, 1, "", "  oops\\x1b[2J\n"+end, "-q", "rebuild")
}

func TestNothingToBuild(t *testing.T) {
	w := newWorld(t)
	here(t, "p")
	w.want(t, 0, "", "coop: there is nothing to build: coop.toml has no packages, setup.run or agent.install\n", "rebuild")
}

func TestNotBuiltIsStatus5(t *testing.T) {
	w := newWorld(t)
	here(t, "p")
	w.daemon.Fail = func(method, path string) *api.Error {
		if method == http.MethodPost && path == "/sandboxes" {
			return &api.Error{Code: "unavailable", Message: "not built", Hint: "coop rebuild", Details: map[string]any{"exit": 5}}
		}
		return nil
	}
	w.daemon.Settle()
	for _, args := range [][]string{{"create"}, {"-d"}, {"run", "--", "true"}} {
		w.want(t, 5, "", "coop: not built\nhint: coop rebuild\n", args...)
	}
}
