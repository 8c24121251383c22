package server

import (
	"net/http"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

const defaultGrace = 5 * time.Second

func (s *Server) stopSandbox(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	req := api.StopRequest{Grace: api.Duration(defaultGrace)} // "0" in the body means at once
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	if req.Version != 0 {
		return notYet("version")
	}
	v, err := s.cfg.Engine.Stop(r.Context(), id, time.Duration(req.Grace), actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, sandboxOf(v))
}

func (s *Server) startSandbox(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	v, err := s.cfg.Engine.Start(r.Context(), id, actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, sandboxOf(v))
}

// notYet refuses a field of the contract whose feature is not there.
func notYet(field string) error {
	return sandbox.Errorf(sandbox.Unsupported, "%s is not there yet", field).
		WithHint("leave %s out", field).WithDetail("field", field)
}
