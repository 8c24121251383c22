package server

import (
	"net/http"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

func gcRoutes() []route {
	return []route{{
		id: "gc", method: "POST", path: "/gc", summary: "Remove sandboxes nobody needs, with a reason for each",
		body: api.GCRequest{}, optional: true, status: http.StatusOK, answer: api.GCResult{}, handle: (*Server).gc,
	}}
}

func (s *Server) gc(w http.ResponseWriter, r *http.Request) error {
	var req api.GCRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	policy, err := gcPolicy(req)
	if err != nil {
		return err
	}
	found, err := s.cfg.Engine.GC(r.Context(), policy, actor(r))
	if err != nil {
		return err
	}
	out := api.GCResult{
		Collected: collected(found.Collected), Kept: collected(found.Kept),
		TotalBytes: found.TotalBytes, DryRun: req.DryRun,
	}
	for _, g := range found.Collected {
		out.FreedBytes += g.Bytes
	}
	return writeJSON(w, http.StatusOK, out)
}

func gcPolicy(req api.GCRequest) (engine.GCPolicy, error) {
	p := engine.GCPolicy{
		OlderThan: time.Duration(req.OlderThan), Idle: time.Duration(req.Idle),
		MaxTotalBytes: int64(req.MaxTotalBytes), Named: req.Sandboxes, DryRun: req.DryRun,
	}
	if p.OlderThan < 0 || p.Idle < 0 || p.MaxTotalBytes < 0 {
		return p, sandbox.Errorf(sandbox.Invalid, "gc: ages and sizes cannot be negative")
	}
	for _, status := range req.Statuses {
		st := sandbox.Status(status)
		if !st.Valid() || st == sandbox.Deleted || st == sandbox.Creating {
			return p, sandbox.Errorf(sandbox.Invalid, "gc: status %.32q cannot be collected", status).
				WithHint("one of running, frozen, stopped, error")
		}
		p.Statuses = append(p.Statuses, st)
	}
	for _, name := range req.Sandboxes {
		if !sandbox.ValidName(name) {
			return p, sandbox.Errorf(sandbox.Invalid, "gc: %.64q is not the name of a sandbox", name)
		}
	}
	return p, nil
}

func collected(all []engine.Garbage) []api.Collected {
	out := make([]api.Collected, len(all))
	for i, g := range all {
		out[i] = api.Collected{ID: string(g.ID), Name: g.Name, Reason: g.Reason, Bytes: g.Bytes, CreatedAt: g.CreatedAt}
	}
	return out
}
