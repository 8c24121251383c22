package server

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/coder/websocket"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

func frame(kind byte, payload string) []byte {
	var b bytes.Buffer
	_ = api.WriteFrame(&b, kind, []byte(payload)) // a buffer takes everything
	return b.Bytes()
}

// Whatever a client sends, the stream ends in one of the known ways.
func FuzzTerminalStream(f *testing.F) {
	f.Add(frame(api.FrameData, "ls\r"))
	f.Add(append(frame(api.FrameControl, `{"type":"resize","cols":80,"rows":24}`), frame(api.FrameControl, `{"type":"detach"}`)...))
	f.Add(frame(api.FrameControl, `{"type":"resize","cols":1e9,"rows":-1}`))
	f.Add(frame(api.FrameStderr, "x"))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		p := newFakePty()
		term, err := terminal.Open(terminal.Config{Dir: t.TempDir(), Pty: p, Role: terminal.RoleShell})
		must(t, err)
		defer term.Close("")
		term.Started("sh", 1)
		c, err := term.Attach(terminal.ClientOptions{})
		must(t, err)
		defer c.Close()
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		l := &streamLink{conn: near, in: bufio.NewReader(bytes.NewReader(in))}
		err = (&typist{link: l, client: c}).run()
		if !errors.Is(err, errVanished) && !errors.Is(err, errDetached) && sandbox.CodeOf(err) != sandbox.Invalid {
			t.Errorf("the stream ended with %v", err)
		}
		if i := term.Info(); !terminal.ValidSize(i.Cols, i.Rows) {
			t.Errorf("size %d × %d", i.Cols, i.Rows)
		}
	})
}

// A message of a WebSocket becomes one frame that can be read, or an error.
func FuzzExecMessage(f *testing.F) {
	f.Add(true, []byte(`{"type":"closeStdin"}`))
	f.Add(false, []byte("\x00stdin"))
	f.Add(false, []byte{})
	f.Fuzz(func(t *testing.T, text bool, payload []byte) {
		kind := websocket.MessageBinary
		if text {
			kind = websocket.MessageText
		}
		var b bytes.Buffer
		if err := writeMessage(&b, kind, payload); err != nil {
			if len(payload) <= api.MaxFrame {
				t.Error(err)
			}
			return
		}
		for b.Len() > 0 {
			if _, _, err := api.ReadFrame(&b); err != nil && payload[0] <= api.FrameStderr {
				t.Error(err)
			} else if err != nil {
				return // an unknown type: the exec's reader refuses it
			}
		}
	})
}
