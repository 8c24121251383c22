package server

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Reviewer is what the server asks of the use cases about changes. Versions are
// of the sandbox's record; 0 is any.
type Reviewer interface {
	Approve(ctx context.Context, ref string, a engine.Approval) (*review.Result, engine.View, error)
	// Discard drops the named files, or everything when files is nil.
	Discard(ctx context.Context, ref string, files []string, version int64, actor string) (*review.Discarded, []string, engine.View, error)
	Rebase(ctx context.Context, ref string, force bool, version int64, actor string) (*review.Rebased, []string, engine.View, error)
	Conflicts(ctx context.Context, ref string) ([]review.Conflict, []string, error)
	// ReviewNotes are what the next reviewers will be told.
	ReviewNotes() []string
	// AuditOf reads the lines about a file of the host, by its absolute path.
	AuditOf(ctx context.Context, file string, limit int) ([]sandbox.AuditEntry, error)
}

func reviewRoutes() []route {
	return []route{
		{
			id: "approve", method: "POST", path: "/sandboxes/{id}/approve", summary: "Apply changes to the project, all that are asked for or none",
			body: api.ApproveRequest{}, optional: true, status: http.StatusOK, answer: api.ApproveResult{}, handle: (*Server).approve,
		},
		{
			id: "discard", method: "POST", path: "/sandboxes/{id}/discard", summary: "Make files of the workspace what they are in the project",
			body: api.DiscardRequest{}, status: http.StatusOK, answer: api.DiscardResult{}, handle: (*Server).discard,
		},
		{
			id: "reject", method: "POST", path: "/sandboxes/{id}/reject", summary: "Drop every change",
			body: api.RejectRequest{}, optional: true, status: http.StatusOK, answer: api.DiscardResult{}, handle: (*Server).reject,
		},
		{
			id: "rebase", method: "POST", path: "/sandboxes/{id}/rebase", summary: "Take the project's present state as the new base",
			body: api.RebaseRequest{}, optional: true, status: http.StatusOK, answer: api.RebaseResult{}, handle: (*Server).rebase,
		},
		{
			id: "conflicts", method: "GET", path: "/sandboxes/{id}/conflicts", summary: "What has changed on both sides",
			status: http.StatusOK, answer: api.ConflictsResult{}, handle: (*Server).conflicts,
		},
	}
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	var req api.ApproveRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	a, err := approvalOf(req)
	if err != nil {
		return err
	}
	a.Actor = actor(r)
	res, v, err := s.cfg.Engine.Approve(r.Context(), id, a)
	if err != nil {
		return reviewError(err)
	}
	return writeJSON(w, http.StatusOK, api.ApproveResult{
		Applied: shownPaths(res.Applied), Remaining: res.Remaining, Flagged: shownPaths(res.Flagged),
		Conflicts: conflictsView(res.Conflicts), CommitHash: res.Commit, Notes: res.Notes, Sandbox: reviewView(v),
	})
}

func approvalOf(req api.ApproveRequest) (engine.Approval, error) {
	a := engine.Approval{Version: req.Version}
	a.Flagged, a.Force, a.Auto = req.Flagged, req.Force, req.Auto
	a.Commits = req.Commits
	if req.Commits && (len(req.Files)+len(req.FilesBase64)+len(req.Hunks) > 0 || req.Commit != nil || req.Auto || req.Force) {
		return a, sandbox.Errorf(sandbox.Invalid, "commits are taken over whole: only flagged and version go with them")
	}
	a.Seen = req.Fingerprints
	var err error
	if a.Files, err = rawPaths(req.Files, req.FilesBase64); err != nil {
		return a, err
	}
	for _, h := range req.Hunks {
		ref := review.HunkRef{Path: h.FilePath, Index: h.Index, ID: h.ID, Parts: h.Parts}
		if h.FilePathBase64 != "" {
			raw, err := rawPaths(nil, []string{h.FilePathBase64})
			if err != nil {
				return a, err
			}
			ref.Path = raw[0]
		}
		a.Hunks = append(a.Hunks, ref)
	}
	if req.Commit != nil {
		a.Commit = &review.Commit{Message: req.Commit.Message, Author: req.Commit.Author}
	}
	return a, nil
}

// rawPaths brings both ways to write names together.
func rawPaths(plain, encoded []string) ([]string, error) {
	out := append([]string(nil), plain...)
	for _, e := range encoded {
		raw, err := base64.StdEncoding.DecodeString(e)
		if err != nil {
			return nil, sandbox.Errorf(sandbox.Invalid, "a name is not base64: %.64q", e)
		}
		out = append(out, string(raw))
	}
	return out, nil
}

// reviewError gives the conflicts in an error the form the API has for them.
func reviewError(err error) error {
	var e *sandbox.Error
	if !errors.As(err, &e) {
		return err
	}
	list, ok := e.Details["conflicts"].([]review.Conflict)
	if !ok {
		return err
	}
	out := *e
	out.Details = map[string]any{"conflicts": conflictsView(list)}
	return &out
}

func conflictsView(list []review.Conflict) []api.Conflict {
	out := make([]api.Conflict, 0, len(list))
	for _, c := range list {
		name, _ := text(c.Path)
		saved, _ := text(c.Saved)
		out = append(out, api.Conflict{
			FilePath: name, Reason: c.Reason, Resolution: c.Resolution, Base: c.Base,
			ProjectDiff: valid(c.ProjectDiff), SandboxDiff: valid(c.SandboxDiff), Saved: saved,
		})
	}
	return out
}

// valid writes bytes that are not UTF-8 as JSON can; the diff has them exactly.
func valid(s string) string {
	shown, _ := text(s)
	return shown
}

func shownPaths(list []string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i], _ = text(p)
	}
	return out
}

func reviewView(v engine.View) *api.ReviewView {
	return &api.ReviewView{ReviewStatus: v.ReviewStatus, Version: v.Version}
}

func (s *Server) discard(w http.ResponseWriter, r *http.Request) error {
	var req api.DiscardRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	files, err := rawPaths(req.Files, req.FilesBase64)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return sandbox.Errorf(sandbox.Invalid, "discard needs files").WithHint("reject drops everything")
	}
	return s.drop(w, r, files, req.Version)
}

func (s *Server) reject(w http.ResponseWriter, r *http.Request) error {
	var req api.RejectRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	return s.drop(w, r, nil, req.Version)
}

func (s *Server) drop(w http.ResponseWriter, r *http.Request, files []string, version int64) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	res, notes, v, err := s.cfg.Engine.Discard(r.Context(), id, files, version, actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.DiscardResult{
		Discarded: shownPaths(res.Paths), Remaining: res.Remaining, Notes: notes, Sandbox: reviewView(v),
	})
}

func (s *Server) rebase(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	var req api.RebaseRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	res, notes, v, err := s.cfg.Engine.Rebase(r.Context(), id, req.Force, req.Version, actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.RebaseResult{
		Base: res.Base, Merged: shownPaths(res.Merged), Conflicts: conflictsView(res.Conflicts), Notes: notes, Sandbox: reviewView(v),
	})
}

func (s *Server) conflicts(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	list, notes, err := s.cfg.Engine.Conflicts(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.ConflictsResult{Conflicts: conflictsView(list), Notes: notes})
}

// auditLines reads the lines of a sandbox, or those about a file of the host.
func (s *Server) auditLines(r *http.Request, q url.Values, id string, limit int) ([]sandbox.AuditEntry, error) {
	if !q.Has("path") {
		return s.cfg.Engine.Audit(r.Context(), id, limit)
	}
	p := q.Get("path")
	if !filepath.IsAbs(p) || len(p) > maxPathLength {
		return nil, sandbox.Errorf(sandbox.Invalid, "path %.128q is not absolute", p)
	}
	lines, err := s.cfg.Engine.AuditOf(r.Context(), filepath.Clean(p), limit)
	if id == "" || err != nil {
		return lines, err
	}
	out := lines[:0]
	for _, l := range lines {
		if string(l.Sandbox) == id || l.Name == id {
			out = append(out, l)
		}
	}
	return out, nil
}

// reviewOf is a create's policy; Validate judges it.
func reviewOf(p *api.ReviewPolicy) sandbox.Review {
	if p == nil {
		return sandbox.Review{}
	}
	out := sandbox.Review{
		Deny: p.Deny, Flag: p.Flag, Allow: p.Allow, Check: p.Check, CommitMessage: p.CommitMessage,
		CommitAuthor: p.CommitAuthor, MaxFileBytes: int64(p.MaxFileBytes), NoBinary: p.NoBinary,
	}
	if p.AutoApprove != nil {
		out.AutoApprove = &sandbox.AutoApprove{MaxFiles: p.AutoApprove.MaxFiles, MaxLines: p.AutoApprove.MaxLines}
	}
	return out
}
