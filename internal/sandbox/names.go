package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var (
	nameRE = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	idRE   = regexp.MustCompile(`^[a-z0-9]{4,40}$`)
)

// ValidName reports whether s may name a sandbox.
func ValidName(s string) bool { return nameRE.MatchString(s) }

// ValidID reports whether s has the form of an id or of a prefix of one.
func ValidID(s string) bool { return idRE.MatchString(s) }

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
