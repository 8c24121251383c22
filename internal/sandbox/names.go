package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"
)

// Characters of names, as sets. Loops over them instead of regular expressions:
// compiling those would cost every start of the program a third of a millisecond.
const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// made reports whether s is made of a first character and others of two sets.
func made(s, first, others string) bool {
	if s == "" || !strings.Contains(first, s[:1]) {
		return false
	}
	return strings.Trim(s[1:], others) == ""
}

// ValidName reports whether s may name a sandbox.
func ValidName(s string) bool { return len(s) <= 63 && made(s, lower+digits, lower+digits+"-") }

// ValidID reports whether s has the form of an id or of a prefix of one.
func ValidID(s string) bool {
	return len(s) >= 4 && len(s) <= 40 && made(s, lower+digits, lower+digits)
}

// NewID makes an id: 48 bits of time, so that ids sort by age, and 48 random
// bits, so that they cannot be guessed from each other.
func NewID(now time.Time) ID {
	var b [12]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand aborts the program instead
	return ID(hex.EncodeToString(b[:]))
}

// NameFor derives a legal sandbox name from a directory's last element.
func NameFor(dir string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(filepath.Base(dir)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	s := b.String()
	if len(s) > 48 {
		s = s[:48]
	}
	s = strings.TrimRight(s, "-")
	if s == "" {
		return "sandbox"
	}
	return s
}
