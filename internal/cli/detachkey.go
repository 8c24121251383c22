package cli

import (
	"fmt"
	"strings"
)

// defaultDetachKey is what telnet leaves with: programs rarely want it.
const defaultDetachKey = "ctrl-]"

// key is one key press: a printable ASCII character in lower case, with or
// without ctrl.
type key struct {
	char byte
	ctrl bool
}

// legacy is the byte a terminal sends for the key unless a program has switched
// another keyboard protocol on.
func (k key) legacy() byte {
	if k.ctrl {
		return k.char & 0x1f
	}
	return k.char
}

func (k key) String() string {
	if k.ctrl {
		return "ctrl-" + string(k.char)
	}
	return string(k.char)
}

// detachKey is the keys that detach, in order; none at all means that no key
// does.
type detachKey []key

func (d detachKey) String() string {
	if len(d) == 0 {
		return "none"
	}
	words := make([]string, len(d))
	for i, k := range d {
		words[i] = k.String()
	}
	return strings.Join(words, ",")
}

// maxDetachKeys bounds how much a person may have to type, and how much input
// is held back meanwhile.
const maxDetachKeys = 8

// parseDetachKey reads "ctrl-]", "ctrl-p,ctrl-q", "ctrl-a,d" or "none". The
// first key has ctrl, or else ordinary typing would detach.
func parseDetachKey(text string) (detachKey, error) {
	if text == "none" {
		return nil, nil
	}
	var keys detachKey
	for _, word := range strings.Split(text, ",") {
		k, err := parseKey(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	switch {
	case !keys[0].ctrl:
		return nil, badKey("detach key %q: the first key needs ctrl", text)
	case len(keys) > maxDetachKeys:
		return nil, badKey("detach key %q: at most %d keys", text, maxDetachKeys)
	}
	return keys, nil
}

func parseKey(word string) (key, error) {
	lower := strings.ToLower(word)
	for _, prefix := range []string{"ctrl-", "ctrl+", "^"} {
		char, ok := strings.CutPrefix(lower, prefix)
		if !ok || char == "" {
			continue
		}
		if char == "space" {
			char = "@" // both are byte 0
		}
		if len(char) != 1 || !strings.Contains(`abcdefghijklmnopqrstuvwxyz\]^_@`, char) {
			return key{}, badKey("detach key: ctrl does nothing to %q", char)
		}
		return key{char: char[0], ctrl: true}, nil
	}
	if len(lower) != 1 || lower[0] <= ' ' || lower[0] > '~' {
		return key{}, badKey("detach key: %q is no key", word)
	}
	return key{char: lower[0]}, nil
}

func badKey(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), hint: `a detach key is "ctrl-]", several are "ctrl-p,ctrl-q", and "none" is none`}
}
