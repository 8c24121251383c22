package server

import (
	"net/http"
	"sync"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// attachments finds the commands that clients are attached to, by the
// sandbox's name as the client wrote it and the exec's id.
type attachments struct {
	mu   sync.Mutex
	live map[string]Exec
}

// add lists an exec; the function it returns takes it off, and may be called
// twice.
func (a *attachments) add(key string, ex Exec) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live == nil {
		a.live = map[string]Exec{}
	}
	a.live[key] = ex
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.live, key)
	}
}

func (a *attachments) get(key string) (Exec, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ex, ok := a.live[key]
	return ex, ok
}

// signalExec reaches a command whose stream is blocked; see attachment.push.
func (s *Server) signalExec(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	var req api.SignalRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	name, err := signalName(req.Signal)
	if err != nil {
		return err
	}
	ex, ok := s.attached.get(id + "/" + r.PathValue("exec"))
	if !ok {
		return sandbox.Errorf(sandbox.NotFound, "no attached exec %.64q in sandbox %q", r.PathValue("exec"), id)
	}
	if err := ex.Signal(name); err != nil {
		return err
	}
	return noContent(w)
}
