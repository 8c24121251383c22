package config

import (
	"fmt"
	"strings"
)

// Key is one key press: a printable ASCII character in lower case, with or
// without ctrl.
type Key struct {
	Char byte
	Ctrl bool
}

// Byte is what a terminal sends for the key, unless a program has switched
// another keyboard protocol on.
func (k Key) Byte() byte {
	if k.Ctrl {
		return k.Char & 0x1f
	}
	return k.Char
}

func (k Key) String() string {
	if k.Ctrl {
		return "ctrl-" + string(k.Char)
	}
	return string(k.Char)
}

// DetachKey is the keys that detach, in order; none at all means that no key
// does.
type DetachKey []Key

func (d DetachKey) String() string {
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

// DetachKeyHint says how one is written.
const DetachKeyHint = `"ctrl-" and a letter or one of ] \ ^ _ (not h, i, j, m and [, which are Backspace, Tab, Enter and Esc); several as "ctrl-p,ctrl-q"; or "none"`

// ParseDetachKey reads "ctrl-]", "ctrl-p,ctrl-q", "ctrl-a,d" or "none". The
// first key has ctrl, or else ordinary typing would detach.
func ParseDetachKey(text string) (DetachKey, error) {
	if text == "none" {
		return nil, nil
	}
	var keys DetachKey
	for _, word := range strings.Split(text, ",") {
		k, ok := parseKey(strings.ToLower(strings.TrimSpace(word)))
		if !ok {
			return nil, fmt.Errorf("%q is not a key", word)
		}
		keys = append(keys, k)
	}
	switch {
	case !keys[0].Ctrl:
		return nil, fmt.Errorf("%q: the first key needs ctrl", text)
	case len(keys) > maxDetachKeys:
		return nil, fmt.Errorf("%q: at most %d keys", text, maxDetachKeys)
	}
	return keys, nil
}

func parseKey(word string) (Key, bool) {
	for _, prefix := range []string{"ctrl-", "ctrl+", "^"} {
		char, ok := strings.CutPrefix(word, prefix)
		if !ok || char == "" {
			continue
		}
		if char == "space" {
			char = "@" // both are byte 0
		}
		ok = len(char) == 1 && strings.Contains(`abcdefgklnopqrstuvwxyz\]^_@`, char)
		return Key{Char: char[0], Ctrl: true}, ok
	}
	if len(word) != 1 || word[0] <= ' ' || word[0] > '~' {
		return Key{}, false
	}
	return Key{Char: word[0]}, true
}

// Keys is detach_key, read.
func (t Terminal) Keys() DetachKey {
	keys, _ := ParseDetachKey(t.DetachKey) // checked when it was read
	return keys
}

func checkDetachKey(v any) error {
	s, _ := v.(string)
	if _, err := ParseDetachKey(s); err != nil {
		return withHint(DetachKeyHint, "%s", err)
	}
	return nil
}
