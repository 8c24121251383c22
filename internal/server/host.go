package server

import (
	"net/http"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

func (s *Server) audit(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	limit, err := limitParam(q)
	if err != nil {
		return err
	}
	id := q.Get("sandbox")
	if q.Has("sandbox") {
		if id, err = checkRef(id); err != nil {
			return err
		}
	}
	entries, err := s.auditLines(r, q, id, limit)
	if err != nil {
		return err
	}
	items := make([]api.AuditEntry, 0, len(entries))
	for _, e := range entries {
		items = append(items, api.AuditEntry{
			Seq: e.Seq, At: e.At, Sandbox: string(e.Sandbox), Name: e.Name, Event: e.Event,
			From: string(e.From), To: string(e.To), Actor: e.Actor, Detail: e.Detail,
		})
	}
	return writeJSON(w, http.StatusOK, api.List[api.AuditEntry]{Items: items, Total: len(items)})
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	h, err := s.cfg.Engine.Health(r.Context())
	if err != nil {
		return err
	}
	out := api.Health{Status: "ok", Driver: h.Driver, Sandboxes: h.Sandboxes, Running: h.Running, Checks: []api.Check{}}
	out.Notes = s.cfg.Engine.ReviewNotes()
	if s.cfg.Checks != nil {
		out.Checks = append(out.Checks, s.cfg.Checks()...)
	}
	for _, c := range out.Checks {
		if !c.OK {
			out.Status = "degraded"
		}
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Doctor == nil {
		return notYet("doctor")
	}
	checks, err := s.cfg.Doctor(r.Context())
	if err != nil {
		return err
	}
	out := api.Doctor{OK: true, Mode: s.cfg.Version.Mode, Checks: append([]api.Check{}, checks...)}
	for _, c := range checks {
		out.OK = out.OK && (c.OK || !c.Required)
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.cfg.Version)
}

// shutdown answers when the sandboxes are stopped, or are to be kept; the daemon
// goes on for the moment that this answer takes.
func (s *Server) shutdown(w http.ResponseWriter, r *http.Request) error {
	keep := r.URL.Query().Get("keep")
	if keep != "" && keep != "0" && keep != "1" {
		return sandbox.Errorf(sandbox.Invalid, "keep %.32q is not 0 or 1", keep)
	}
	if s.cfg.Shutdown == nil {
		return notYet("shutdown")
	}
	s.cfg.Shutdown(keep == "1")
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openAPI) // a client that has gone cannot be told so
	return nil
}
