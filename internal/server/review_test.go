package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestApproveRequest(t *testing.T) {
	h := newHarness(t)
	var got api.ApproveResult
	h.post("/sandboxes/box/approve", `{"files":["new-file.txt"],"filesBase64":["/w=="],"hunks":[{"filePath":"x","index":2,"id":"ab"}],
		"flagged":true,"force":true,"version":3,"commit":{"message":"m","author":"agent"}}`).want(200).into(&got)
	a := h.engine.approval
	want := review.Request{
		Files: []string{"new-file.txt", "\xff"}, Hunks: []review.HunkRef{{Path: "x", Index: 2, ID: "ab"}},
		Flagged: true, Force: true, Commit: &review.Commit{Message: "m", Author: "agent"}, Actor: "uid:1000",
	}
	if diff := cmp.Diff(want, a.Request); diff != "" || a.Version != 3 {
		t.Errorf("version %d, %s", a.Version, diff)
	}
	if diff := cmp.Diff(api.ApproveResult{
		Applied: []string{"a", "b\uFFFD"}, Remaining: 2, Flagged: []string{".envrc"}, CommitHash: "c0ffee", Notes: []string{"noted"},
		Conflicts: []api.Conflict{{FilePath: "a", Resolution: "merged", Base: "known", Reason: "both"}},
		Sandbox:   &api.ReviewView{ReviewStatus: "pending", Version: 3},
	}, got); diff != "" {
		t.Error(diff)
	}
	h.post("/sandboxes/box/approve", "").want(200) // everything
	h.post("/sandboxes/box/approve", `{"commits":true,"force":true}`).wantError(400, "invalid")
	h.post("/sandboxes/box/approve", `{"commits":true}`).want(200)
	if !h.engine.approval.Commits {
		t.Error("commits were not asked for")
	}
	h.post("/sandboxes/box/approve", `{"filesBase64":["!"]}`).wantError(400, "invalid")
	h.post("/sandboxes/box/approve", `{"file":["x"]}`).wantError(400, "invalid", "files")
}

// TestConflictsInErrors: who is refused learns what both sides have done.
func TestConflictsInErrors(t *testing.T) {
	h := newHarness(t)
	h.engine.err = sandbox.Errorf(sandbox.Conflict, "changed on both sides").
		WithDetail("conflicts", []review.Conflict{{Path: "a", Reason: "both", Resolution: review.Refused}})
	e := h.post("/sandboxes/box/approve", "").wantError(409, "conflict")
	list, _ := e.Details["conflicts"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["filePath"] != "a" {
		t.Errorf("%v", e.Details)
	}
}

func TestDropRequests(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes/box/discard", `{}`).wantError(400, "invalid", "files", "reject")
	h.post("/sandboxes/box/discard", `{"files":["a"]}`).want(200)
	if diff := cmp.Diff([]string{"a"}, h.engine.dropped); diff != "" {
		t.Error(diff)
	}
	var got api.DiscardResult
	h.post("/sandboxes/box/reject", "").want(200).into(&got)
	if h.engine.dropped != nil || got.Remaining != 1 || len(got.Notes) != 1 {
		t.Errorf("%v, %+v", h.engine.dropped, got)
	}
	h.post("/sandboxes/other/reject", "").wantError(404, "not_found")
	var rebased api.RebaseResult
	h.post("/sandboxes/box/rebase", `{"force":true}`).want(200).into(&rebased)
	if len(rebased.Merged) != 1 || rebased.Conflicts == nil {
		t.Errorf("%+v", rebased)
	}
	var conflicts api.ConflictsResult
	h.get("/sandboxes/box/conflicts").want(200).into(&conflicts)
	if len(conflicts.Conflicts) != 1 || conflicts.Conflicts[0].SandboxDiff != "\uFFFD" {
		t.Errorf("%+v", conflicts)
	}
}

func TestAuditOfAFile(t *testing.T) {
	h := newHarness(t)
	var got api.List[api.AuditEntry]
	h.get("/audit?path=/src/./x").want(200).into(&got)
	if len(got.Items) != 1 || got.Items[0].Detail != "/src/x" {
		t.Errorf("%+v", got)
	}
	h.get("/audit?path=/src/x&sandbox=other").want(200).into(&got)
	if len(got.Items) != 0 {
		t.Errorf("%+v", got)
	}
	h.get("/audit?path=x").wantError(400, "invalid", "absolute")
}

func TestReviewPolicyOfACreate(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes", `{"scopePath":"/p","review":{"deny":["secret/**"],"check":"make test","maxFileBytes":"1MiB","autoApprove":{"maxFiles":3,"maxLines":9}}}`).want(201)
	want := sandbox.Review{Deny: []string{"secret/**"}, Check: "make test", MaxFileBytes: 1 << 20, AutoApprove: &sandbox.AutoApprove{MaxFiles: 3, MaxLines: 9}}
	if diff := cmp.Diff(want, h.engine.spec.Review); diff != "" {
		t.Error(diff)
	}
	h.post("/sandboxes", `{"scopePath":"/p","review":{"commitAuthor":"me"}}`).wantError(400, "invalid", "agent, reviewer, coauthor")
	h.post("/sandboxes", `{"scopePath":"/p","review":{"deny":["[a"]}}`).wantError(400, "invalid", "pattern")
}
