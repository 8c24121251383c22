package fakedaemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// Terminals are those of every sandbox of a fake, and what attaching does. Log
// is what they printed.
type Terminals struct {
	List []api.Terminal
	Log  string
	Show func(*View)

	opened   []api.TerminalRequest
	restarts []api.RestartRequest
}

// View is one attached client, seen from the daemon. Its connection is closed
// when Terminals.Show returns.
type View struct {
	Session
	Number int
	Query  url.Values
}

// OpenedTerminals are the bodies of all requests for one.
func (d *Daemon) OpenedTerminals() []api.TerminalRequest { return snapshot(d, &d.Terminals.opened) }

// Restarts are the bodies of all restarts, of sandboxes and terminals.
func (d *Daemon) Restarts() []api.RestartRequest { return snapshot(d, &d.Terminals.restarts) }

func (d *Daemon) terminalRoutes(mux *http.ServeMux) {
	const all = " /api/v1/sandboxes/{ref}/terminals"
	mux.HandleFunc("GET"+all, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := d.find(w, r); ok {
			reply(w, 200, api.List[api.Terminal]{Items: d.Terminals.List, Total: len(d.Terminals.List)})
		}
	})
	mux.HandleFunc("POST"+all, d.openTerminal)
	mux.HandleFunc("GET"+all+"/{n}/attach", d.showTerminal)
	mux.HandleFunc("GET"+all+"/{n}/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, d.Terminals.Log) })
	mux.HandleFunc("DELETE"+all+"/{n}", answer(nil))
	mux.HandleFunc("POST"+all+"/{n}/restart", func(w http.ResponseWriter, r *http.Request) {
		d.noteRestart(r)
		reply(w, 200, api.Terminal{})
	})
	mux.HandleFunc("POST /api/v1/sandboxes/{ref}/restart", func(w http.ResponseWriter, r *http.Request) {
		d.noteRestart(r)
		d.become("running")(w, r)
	})
}

func (d *Daemon) noteRestart(r *http.Request) {
	var req api.RestartRequest
	_ = json.NewDecoder(r.Body).Decode(&req) // an empty body restarts as it was
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Terminals.restarts = append(d.Terminals.restarts, req)
}

// openTerminal numbers terminals from 1, as there is always a terminal 0.
func (d *Daemon) openTerminal(w http.ResponseWriter, r *http.Request) {
	var req api.TerminalRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, &api.Error{Code: api.CodeInvalid, Message: err.Error()})
		return
	}
	if _, ok := d.find(w, r); !ok {
		return
	}
	d.mu.Lock()
	d.Terminals.opened = append(d.Terminals.opened, req)
	n := len(d.Terminals.opened)
	d.mu.Unlock()
	reply(w, http.StatusCreated, api.Terminal{Number: n, Role: req.Role, Running: true})
}

func (d *Daemon) showTerminal(w http.ResponseWriter, r *http.Request) {
	sb, ok := d.find(w, r)
	if !ok {
		return
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || r.Header.Get("Upgrade") != api.UpgradeProtocol || d.Terminals.Show == nil {
		fail(w, &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("no terminal %s", r.PathValue("n")), Hint: "coop terminal ls"})
		return
	}
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: coop-stream\r\n\r\n"); err != nil {
		return
	}
	d.Terminals.Show(&View{Session{Ref: sb.ID, Header: r.Header, w: conn, r: buf.Reader}, n, r.URL.Query()})
}
