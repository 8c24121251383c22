package cli

import (
	"os"
	"strings"
)

// terminalEnv is what a program on a new terminal must know of the one it is
// shown on. given, what the person asked for, wins.
func terminalEnv(given map[string]string) map[string]string {
	env := map[string]string{"TERM": knownTerm(os.Getenv("TERM"))}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && (name == "COLORTERM" || name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_")) {
			env[name] = value
		}
	}
	for name, value := range given {
		env[name] = value
	}
	return env
}

// anyTerm is what every terminal emulator of today can do.
const anyTerm = "xterm-256color"

// knownTerm keeps a name that ncurses brings along everywhere. Those of newer
// terminals are rarely known inside an image, and a program that does not know
// its terminal is worse off than one that takes it for an xterm.
func knownTerm(name string) string {
	switch name {
	case "xterm", "xterm-256color", "xterm-color", "screen", "screen-256color", "tmux", "tmux-256color",
		"linux", "vt100", "vt220", "rxvt", "rxvt-unicode", "ansi", "dumb":
		return name
	case "":
		return "xterm"
	}
	if strings.HasPrefix(name, "screen.") { // GNU screen says screen.xterm-256color
		return "screen"
	}
	return anyTerm
}
