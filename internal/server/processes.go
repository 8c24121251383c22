package server

import (
	"net/http"
	"strconv"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

const maxPID = 1 << 22 // PID_MAX_LIMIT

func (s *Server) listProcesses(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	ps, err := s.cfg.Engine.Processes(r.Context(), id)
	if err != nil {
		return err
	}
	items := make([]api.Process, 0, len(ps))
	for _, p := range ps {
		items = append(items, api.Process{
			PID: p.PID, PPID: p.PPID, UID: p.UID, State: p.State, Command: p.Command,
			CPUMs: p.CPU.Milliseconds(), RSSBytes: p.RSSBytes, Exec: p.Exec, StartedMs: p.Age.Milliseconds(),
		})
	}
	return writeJSON(w, http.StatusOK, api.List[api.Process]{Items: items, Total: len(items)})
}

// signalProcess sends SIGTERM unless told otherwise, as kill(1) does.
func (s *Server) signalProcess(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	pid, err := pidParam(r.PathValue("pid"))
	if err != nil {
		return err
	}
	name := "SIGTERM"
	if q := r.URL.Query(); q.Has("signal") {
		if name, err = signalName(q.Get("signal")); err != nil {
			return err
		}
	}
	if err := s.cfg.Engine.Signal(r.Context(), id, pid, name); err != nil {
		return err
	}
	return noContent(w)
}

func pidParam(s string) (int, error) {
	pid, err := strconv.Atoi(s)
	if err != nil || pid < 1 || pid > maxPID {
		return 0, sandbox.Errorf(sandbox.Invalid, "%.32q is not a pid", s)
	}
	if pid == 1 {
		return 0, sandbox.Errorf(sandbox.Invalid, "pid 1 is the sandbox itself").WithHint("stop the sandbox instead")
	}
	return pid, nil
}
