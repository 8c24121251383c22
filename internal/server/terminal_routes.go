package server

import (
	"net/http"

	"github.com/coop-dev/coop/api"
)

func terminalRoutes() []route {
	const one = "/sandboxes/{id}/terminals/{n}"
	return []route{
		{
			id: "restartSandbox", method: "POST", path: "/sandboxes/{id}/restart", summary: "Start the agent again with what coop.toml says now",
			body: api.RestartRequest{}, optional: true, status: http.StatusOK, answer: api.Sandbox{}, handle: (*Server).restartSandbox,
		},
		{
			id: "openTerminal", method: "POST", path: "/sandboxes/{id}/terminals", summary: "Start a program on a new terminal",
			body: api.TerminalRequest{}, optional: true, status: http.StatusCreated, answer: api.Terminal{}, handle: (*Server).openTerminal,
		},
		{
			id: "listTerminals", method: "GET", path: "/sandboxes/{id}/terminals", summary: "List the terminals of a sandbox",
			status: http.StatusOK, answer: api.List[api.Terminal]{}, handle: (*Server).listTerminals,
		},
		{
			id: "killTerminal", method: "DELETE", path: one, summary: "End the program of a terminal with everything it started",
			status: http.StatusNoContent, handle: (*Server).killTerminal,
		},
		{
			id: "resizeTerminal", method: "POST", path: one + "/resize", summary: "Set the size until a client is active again",
			body: api.ResizeRequest{}, status: http.StatusNoContent, handle: (*Server).resizeTerminal,
		},
		{
			id: "restartTerminal", method: "POST", path: one + "/restart", summary: "End the program of a terminal and start it again",
			body: api.RestartRequest{}, optional: true, status: http.StatusOK, answer: api.Terminal{}, handle: (*Server).restartTerminal,
		},
		{
			id: "terminalLog", method: "GET", path: one + "/logs", summary: "What the terminal printed, as far as it is kept",
			query: []param{
				{name: "follow", summary: "1: go on until the terminal ends", kind: "string"},
				{name: "tail", summary: "only the last so many lines", kind: "integer"},
				{name: "raw", summary: "1: byte for byte, with escape sequences that a viewer's terminal would obey", kind: "string"},
			},
			status: http.StatusOK, answer: octets{}, handle: (*Server).terminalLog,
		},
		{
			id: "attachTerminal", method: "GET", path: one + "/attach", summary: "Watch and type (WebSocket, or Upgrade: coop-stream)",
			query: []param{
				{name: "readOnly", summary: "1: only watch", kind: "string"},
				{name: "cols", summary: "width of the client's window", kind: "integer"},
				{name: "rows", summary: "height of the client's window", kind: "integer"},
				{name: "scrollback", summary: "1: older lines before the screen", kind: "string"},
			},
			status: http.StatusSwitchingProtocols, handle: (*Server).attachTerminal,
		},
	}
}
