package server

import (
	"errors"
	"io"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// The client's calls for terminals against the handlers themselves.
func TestClientOfTerminals(t *testing.T) {
	h, ts := newTerminalHarness(t)
	c, err := client.New(client.Options{Socket: h.socket})
	must(t, err)
	defer c.Close()
	ctx := t.Context()

	opened, err := c.OpenTerminal(ctx, "box", api.TerminalRequest{Cols: 80, Rows: 24})
	must(t, err)
	list, err := c.Terminals(ctx, "box")
	must(t, err)
	if list.Total != 2 || opened.Number != 1 {
		t.Errorf("%+v %+v", list, opened)
	}
	must(t, c.ResizeTerminal(ctx, "box", 1, 100, 50))
	_, err = c.RestartTerminal(ctx, "box", 1, api.RestartRequest{})
	must(t, err)
	_, err = c.Restart(ctx, "box", api.RestartRequest{Agent: &api.Agent{Command: "x"}})
	must(t, err)
	must(t, c.KillTerminal(ctx, "box", 1))

	ts.ptys[1].print("first\r\nsecond\r\n")
	log, err := c.TerminalLogs(ctx, "box", 1, client.LogOptions{Tail: 1})
	must(t, err)
	text, err := io.ReadAll(log)
	must(t, err)
	log.Close()
	if string(text) != "second\n" {
		t.Errorf("log %q", text)
	}
	watch(t, c, ts)

	var failure *api.Error
	if _, err := c.AttachTerminal(ctx, "box", 9, client.TerminalOptions{}); !errors.As(err, &failure) || failure.Code != api.CodeNotFound {
		t.Error(err)
	}
}

func watch(t *testing.T, c *client.Client, ts *fakeTerminals) {
	t.Helper()
	s, err := c.AttachTerminal(t.Context(), "box", 1, client.TerminalOptions{Cols: 70, Rows: 20, Scrollback: true})
	must(t, err)
	defer s.Close()
	_, err = s.WriteStdin([]byte("typed"))
	must(t, err)
	ts.ptys[1].await(func() bool { return string(ts.ptys[1].in) == "typed" })
	must(t, s.Resize(71, 21))
	must(t, s.Detach())
	for {
		f, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Control != nil && f.Control.Type == "detached" {
			break
		}
	}
	if _, err := s.Next(); err != io.EOF {
		t.Errorf("after detached: %v", err)
	}
	if i := ts.list[1].Info(); i.Cols != 71 || i.Rows != 21 {
		t.Errorf("%+v", i)
	}
}
