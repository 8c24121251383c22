package cli

import (
	"github.com/coop-dev/coop/api"
)

// onTerminal is the same command on a terminal.
func onTerminal(req api.ExecRequest) api.TerminalRequest {
	return api.TerminalRequest{
		Role: api.RoleExec, Command: req.Command, Args: req.Args, Env: terminalEnv(req.Env),
		WorkingDir: req.WorkingDir, User: req.User, OnExit: req.OnExit, TimeoutMs: req.TimeoutMs,
	}
}

// terminal is the person's terminal if the command shall have one: when asked
// for it must be there, otherwise it is welcome where the verb likes one.
func (e *execFlags) terminal(a *app, asked, likes bool) (*localTerminal, error) {
	if err := e.view.check(); err != nil {
		return nil, err
	}
	if asked && !e.tty || !asked && !likes {
		return nil, nil
	}
	tty := a.localTerminal()
	if tty == nil && asked {
		return nil, errNoTerminal("leave out -t")
	}
	return tty, nil
}
