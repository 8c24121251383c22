package engine

import (
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Command is one exec.
type Command struct {
	Command    string
	Args       []string
	Direct     bool // execute Command with Args; otherwise sh -c Command
	Env        map[string]string
	WorkingDir string
	User       string
	Stdin      bool // the caller will write to Exec.Stdin; otherwise /dev/null
	Attached   bool // streams to a client; when the daemon dies it goes on
	Timeout    time.Duration
	OnExit     OnExit
}

// OnExit says what becomes of a sandbox after an exec of `coop run`.
type OnExit string

// The choices of OnExit.
const (
	Keep              OnExit = "keep"
	Remove            OnExit = "remove"
	RemoveIfUnchanged OnExit = "removeIfUnchanged"
)

// Validate checks what can be checked without the sandbox.
func (c Command) Validate() error {
	if c.Command == "" {
		return sandbox.Errorf(sandbox.Invalid, "command is empty")
	}
	words := append([]string{c.Command}, c.Args...)
	for _, a := range append(words, c.WorkingDir) {
		if strings.ContainsRune(a, 0) {
			return sandbox.Errorf(sandbox.Invalid, "an argument holds a NUL byte")
		}
	}
	if c.Timeout < 0 {
		return sandbox.Errorf(sandbox.Invalid, "a time limit cannot be negative")
	}
	if c.User != "" {
		if err := sandbox.ValidateUser(c.User); err != nil {
			return err
		}
	}
	if err := sandbox.ValidateEnv(c.Env); err != nil {
		return err
	}
	return checkSize(words)
}

// checkSize refuses what no kernel would execute, before it travels. Each word
// counts with its end and its pointer, as execve(2) counts.
func checkSize(words []string) error {
	total := 0
	for _, s := range words {
		if len(s) >= sandbox.MaxArgLength {
			return tooLong("an argument is longer than %d bytes", sandbox.MaxArgLength-1)
		}
		total += len(s) + 1 + 8
	}
	if total > sandbox.MaxArgBytes {
		return tooLong("the arguments need more than %d bytes", sandbox.MaxArgBytes)
	}
	return nil
}

func tooLong(format string, args ...any) error {
	return sandbox.Errorf(sandbox.TooLarge, format, args...).
		WithHint("send it on stdin, or write it to a file first").WithDetail("exitCode", 126)
}
