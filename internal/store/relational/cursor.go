package relational

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// cursor is the last row of a page. The next page begins after it, wherever
// that is by then: rows that came or went in between shift nothing.
type cursor struct {
	created int64
	id      string
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.created, c.id))
}

// parseCursor gives nil for the empty cursor, which is the first page.
func parseCursor(s string) (*cursor, error) {
	if s == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, badCursor()
	}
	created, id, ok := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(created, 10, 64)
	if err != nil || !ok {
		return nil, badCursor()
	}
	return &cursor{n, id}, nil
}

func badCursor() error {
	return sandbox.Errorf(sandbox.Invalid, "list sandboxes: the cursor is not one of a former page").
		WithHint("leave it out to start from the first page")
}
