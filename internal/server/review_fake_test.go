package server

import (
	"context"
	"time"

	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

// The fake's review: what was asked is kept, and everything succeeds.

func (e *fakeEngine) Approve(_ context.Context, ref string, a engine.Approval) (*review.Result, engine.View, error) {
	e.approval = a
	res := &review.Result{
		Applied: []string{"a", "b\xff"}, Remaining: 2, Flagged: []string{".envrc"}, Commit: "c0ffee", Notes: []string{"noted"},
		Conflicts: []review.Conflict{{Path: "a", Resolution: review.Merged, Base: "known", Reason: "both"}},
	}
	return res, exampleView(), e.called("approve", ref)
}

func (e *fakeEngine) Discard(_ context.Context, ref string, files []string, _ int64, _ string) (*review.Discarded, []string, engine.View, error) {
	e.dropped = files
	return &review.Discarded{Paths: []string{"a"}, Remaining: 1}, []string{"noted"}, exampleView(), e.called("discard", ref)
}

func (e *fakeEngine) Rebase(_ context.Context, ref string, _ bool, _ int64, _ string) (*review.Rebased, []string, engine.View, error) {
	return &review.Rebased{Base: time.Unix(1, 0).UTC(), Merged: []string{"a"}}, nil, exampleView(), e.called("rebase", ref)
}

func (e *fakeEngine) Conflicts(_ context.Context, ref string) ([]review.Conflict, []string, error) {
	return []review.Conflict{{Path: "a", Resolution: review.Refused, Base: "unknown", SandboxDiff: "\xff"}}, nil, e.called("conflicts", ref)
}

func (e *fakeEngine) ReviewNotes() []string { return []string{"an approve was interrupted"} }

func (e *fakeEngine) AuditOf(_ context.Context, file string, _ int) ([]sandbox.AuditEntry, error) {
	return []sandbox.AuditEntry{{Seq: 2, Sandbox: "abcd", Name: "box", Event: "approve", Detail: file}}, e.called("auditOf", "")
}
