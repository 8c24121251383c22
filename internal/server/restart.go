package server

import (
	"net/http"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
	"github.com/coop-dev/coop/internal/terminal/filter"
)

func (s *Server) restartSandbox(w http.ResponseWriter, r *http.Request) error {
	ts, id, err := s.terminals(r)
	if err != nil {
		return err
	}
	restart, err := restartRequest(w, r)
	if err != nil {
		return err
	}
	v, err := ts.Restart(r.Context(), id, restart, actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, sandboxOf(v))
}

func (s *Server) restartTerminal(w http.ResponseWriter, r *http.Request) error {
	ts, id, n, err := s.oneTerminal(r)
	if err != nil {
		return err
	}
	restart, err := restartRequest(w, r)
	if err != nil {
		return err
	}
	if n != 0 && (restart.Agent != nil || restart.Session != nil) {
		return sandbox.Errorf(sandbox.Invalid, "agent and session are only for terminal 0")
	}
	t, err := ts.RestartTerminal(r.Context(), id, n, restart, actor(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, t.Info())
}

func restartRequest(w http.ResponseWriter, r *http.Request) (terminal.Restart, error) {
	var req api.RestartRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return terminal.Restart{}, err
	}
	out := terminal.Restart{Env: req.Env}
	if err := sandbox.ValidateEnv(req.Env); err != nil {
		return out, err
	}
	if a := req.Agent; a != nil {
		out.Agent = &sandbox.Agent{Command: a.Command, Args: a.Args, User: a.User}
		if a.User != "" {
			if err := sandbox.ValidateUser(a.User); err != nil {
				return out, err
			}
		}
	}
	session, err := sessionOf(req.Session)
	if req.Session != nil {
		out.Session = &session
	}
	return out, err
}

// sessionOf reads how terminals shall behave.
func sessionOf(s *api.Session) (sandbox.Session, error) {
	if s == nil {
		return sandbox.Session{}, nil
	}
	out := sandbox.Session{
		AutoRestart: s.AutoRestart, RestartDelay: time.Duration(s.RestartDelay), ScrollbackBytes: int64(s.Scrollback),
		CtrlCDebounce: time.Duration(s.CtrlCDebounce), Block: s.Block,
	}
	if err := out.Validate(); err != nil {
		return out, err
	}
	if _, err := filter.ParseAll(s.Block); err != nil {
		return out, sandbox.Errorf(sandbox.Invalid, "session.block: %w", err)
	}
	return out, nil
}
