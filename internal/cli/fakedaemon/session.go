package fakedaemon

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// Session is one attached command, seen from the daemon. Its connection is
// closed when Daemon.Command returns.
type Session struct {
	Ref     string
	Request api.ExecRequest
	Header  http.Header

	w io.Writer
	r *bufio.Reader
}

func (d *Daemon) attach(w http.ResponseWriter, r *http.Request) {
	sb, ok := d.find(w, r)
	if !ok {
		return
	}
	s := &Session{Ref: sb.ID, Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&s.Request); err != nil || r.Header.Get("Upgrade") != api.UpgradeProtocol || r.ContentLength <= 0 {
		fail(w, &api.Error{Code: api.CodeInvalid, Message: "no upgrade"})
		return
	}
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	s.w, s.r = conn, buf.Reader
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: coop-stream\r\n\r\n"); err != nil {
		return
	}
	s.Control(api.Control{Type: "started", Exec: "e1"})
	d.Command(s)
}

// Stdout, Stderr and Raw send bytes; they report whether the client is there.
func (s *Session) Stdout(p []byte) bool { return api.WriteFrame(s.w, api.FrameData, p) == nil }

// Stderr sends bytes of the command's stderr.
func (s *Session) Stderr(p []byte) bool { return api.WriteFrame(s.w, api.FrameStderr, p) == nil }

// Raw sends bytes as they are, to break the protocol.
func (s *Session) Raw(p []byte) bool {
	_, err := s.w.Write(p)
	return err == nil
}

// Control sends a control frame.
func (s *Session) Control(c api.Control) bool {
	data, err := json.Marshal(c)
	return err == nil && api.WriteFrame(s.w, api.FrameControl, data) == nil
}

// Exit ends the command with a status.
func (s *Session) Exit(code int) {
	s.Control(api.Control{Type: "exit", Exit: &api.ExecResult{ExitCode: code}})
}

// Next is what the client sent: stdin, or a control. Neither is a client that
// has gone.
func (s *Session) Next() (stdin []byte, control *api.Control) {
	kind, payload, err := api.ReadFrame(s.r)
	if err != nil {
		return nil, nil
	}
	if kind == api.FrameData {
		return payload, nil
	}
	control = new(api.Control)
	if json.Unmarshal(payload, control) != nil {
		return nil, nil
	}
	return nil, control
}

// Await reads on until a control of a type comes, and returns the stdin before
// it; nil control means that the client went first.
func (s *Session) Await(kind string) (stdin []byte, control *api.Control) {
	for {
		data, control := s.Next()
		stdin = append(stdin, data...)
		if data == nil && (control == nil || control.Type == kind) {
			return stdin, control
		}
	}
}
