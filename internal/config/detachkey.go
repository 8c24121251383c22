package config

import "strings"

// DetachByte is what the terminal sends for detach_key.
func (t Terminal) DetachByte() byte {
	b, _ := parseDetachKey(t.DetachKey) // checked when it was read
	return b
}

func checkDetachKey(v any) error {
	s, _ := v.(string)
	if _, ok := parseDetachKey(s); !ok {
		return withHint(`"ctrl-" and a letter or one of ] \ ^ _; not h, i, j, m and [, which are Backspace, Tab, Enter and Esc`, "%q is not a key", s)
	}
	return nil
}

// parseDetachKey reads "ctrl-]". Keys that programs cannot do without are none.
func parseDetachKey(s string) (byte, bool) {
	key, ok := strings.CutPrefix(strings.ToUpper(s), "CTRL-")
	if !ok || len(key) != 1 || strings.Contains("HIJM[", key) {
		return 0, false
	}
	if c := key[0]; c >= 'A' && c <= '_' {
		return c & 0x1f, true
	}
	return 0, false
}
