package patch

import (
	"crypto/sha256"
	"encoding/hex"
)

// ID names a hunk by what it does, not by where it is: it stays the same when
// other hunks of the file are applied.
func (h Hunk) ID() string {
	sum := sha256.New()
	for _, l := range h.Lines {
		sum.Write([]byte{l.Op})
		sum.Write([]byte(l.Text))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
