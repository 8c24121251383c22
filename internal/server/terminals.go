package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// maxTerminal bounds the numbers of terminals.
const maxTerminal = 1 << 20

// terminals is the engine's part for terminals and the sandbox a path names.
func (s *Server) terminals(r *http.Request) (Terminals, string, error) {
	id, err := ref(r)
	if err == nil && s.cfg.Terminals == nil {
		err = sandbox.Errorf(sandbox.Unsupported, "this daemon has no terminals")
	}
	return s.cfg.Terminals, id, err
}

// terminalNumber is the terminal a path names.
func terminalNumber(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n > maxTerminal || strconv.Itoa(n) != r.PathValue("n") {
		return 0, sandbox.Errorf(sandbox.NotFound, "no terminal %.32q", r.PathValue("n"))
	}
	return n, nil
}

// oneTerminal is both.
func (s *Server) oneTerminal(r *http.Request) (ts Terminals, id string, n int, err error) {
	if ts, id, err = s.terminals(r); err != nil {
		return nil, "", 0, err
	}
	n, err = terminalNumber(r)
	return ts, id, n, err
}

func (s *Server) listTerminals(w http.ResponseWriter, r *http.Request) error {
	ts, id, err := s.terminals(r)
	if err != nil {
		return err
	}
	list, err := ts.Terminals(r.Context(), id)
	if err != nil {
		return err
	}
	items := make([]api.Terminal, 0, len(list))
	for _, t := range list {
		items = append(items, t.Info())
	}
	return writeJSON(w, http.StatusOK, api.List[api.Terminal]{Items: items, Total: len(items)})
}

func (s *Server) openTerminal(w http.ResponseWriter, r *http.Request) error {
	ts, id, err := s.terminals(r)
	if err != nil {
		return err
	}
	var body api.TerminalRequest
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	req, err := terminalRequest(body)
	if err != nil {
		return err
	}
	t, made, err := ts.OpenTerminal(r.Context(), id, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	w.Header().Set("Location", api.Prefix+"/sandboxes/"+id+"/terminals/"+strconv.Itoa(t.Number()))
	return writeJSON(w, status, t.Info())
}

func terminalRequest(b api.TerminalRequest) (terminal.Request, error) {
	r := terminal.Request{
		Role: b.Role, Command: b.Command, Direct: b.Args != nil, Env: b.Env, WorkingDir: b.WorkingDir, User: b.User,
		Cols: b.Cols, Rows: b.Rows, Reuse: b.Reuse, OnExit: b.OnExit, Timeout: time.Duration(b.TimeoutMs) * time.Millisecond,
	}
	if r.Role == "" {
		r.Role = terminal.RoleShell
	}
	if b.Args != nil {
		r.Args = *b.Args
	}
	return r, checkTerminalRequest(r, b)
}

func checkTerminalRequest(r terminal.Request, b api.TerminalRequest) error {
	exec := r.Role == terminal.RoleExec
	switch {
	case !exec && r.Role != terminal.RoleShell:
		return sandbox.Errorf(sandbox.Invalid, "role %.32q cannot be opened", r.Role).WithHint("shell or exec")
	case exec && r.Command == "":
		return sandbox.Errorf(sandbox.Invalid, "role exec needs a command")
	case r.Command == "" && r.Direct:
		return sandbox.Errorf(sandbox.Invalid, "args without a command")
	case !exec && (r.OnExit != "" || b.TimeoutMs != 0):
		return sandbox.Errorf(sandbox.Invalid, "onExit and timeoutMs are only for role exec")
	case exec && r.Reuse:
		return sandbox.Errorf(sandbox.Invalid, "reuse is only for role shell")
	case (r.Cols != 0 || r.Rows != 0) && !terminal.ValidSize(r.Cols, r.Rows):
		return invalidSize(r.Cols, r.Rows)
	case b.TimeoutMs < 0 || b.TimeoutMs > maxTimeout.Milliseconds():
		return sandbox.Errorf(sandbox.Invalid, "timeoutMs %d is not between 0 and %d", b.TimeoutMs, maxTimeout.Milliseconds())
	}
	if _, err := onExit(r.OnExit); err != nil {
		return err
	}
	return checkProgram(r)
}

// checkProgram applies the rules of commands; a login shell stands for itself.
func checkProgram(r terminal.Request) error {
	c := engine.Command{Command: r.Command, Args: r.Args, Direct: r.Direct, Env: r.Env, WorkingDir: r.WorkingDir, User: r.User, Timeout: r.Timeout}
	if c.Command == "" {
		c.Command = "sh"
	}
	if len(c.WorkingDir) > maxPathLength {
		return sandbox.Errorf(sandbox.Invalid, "workingDir is longer than %d bytes", maxPathLength)
	}
	return c.Validate()
}

func invalidSize(cols, rows int) error {
	return sandbox.Errorf(sandbox.Invalid, "size %d × %d is not from 1 × 1 to %d × %d", cols, rows, terminal.MaxCols, terminal.MaxRows)
}

func (s *Server) killTerminal(w http.ResponseWriter, r *http.Request) error {
	ts, id, n, err := s.oneTerminal(r)
	if err != nil {
		return err
	}
	if err := ts.KillTerminal(r.Context(), id, n, actor(r)); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) resizeTerminal(w http.ResponseWriter, r *http.Request) error {
	ts, id, n, err := s.oneTerminal(r)
	if err != nil {
		return err
	}
	var req api.ResizeRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	if !terminal.ValidSize(req.Cols, req.Rows) {
		return invalidSize(req.Cols, req.Rows)
	}
	t, err := ts.Terminal(r.Context(), id, n)
	if err != nil {
		return err
	}
	if err := t.Resize(req.Cols, req.Rows); err != nil {
		return err
	}
	return noContent(w)
}
