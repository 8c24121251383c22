package server

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	defaultLimit  = 100
	maxLimit      = 1000
	maxPathLength = 4095
)

// ref is the sandbox a path names. What cannot be a name or an id does not
// reach the engine.
func ref(r *http.Request) (string, error) { return checkRef(r.PathValue("id")) }

func checkRef(s string) (string, error) {
	if !sandbox.ValidName(s) { // every id has the form of a name too
		return "", sandbox.Errorf(sandbox.NotFound, "no sandbox %.64q", s)
	}
	return s, nil
}

func parseQuery(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "query: %.128s", err.Error())
	}
	return q, nil
}

// limitParam reads ?limit, which defaults to 100.
func limitParam(q url.Values) (int, error) {
	if !q.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, sandbox.Errorf(sandbox.Invalid, "limit %.32q is not a number from 1 to %d", q.Get("limit"), maxLimit)
	}
	return n, nil
}

// insidePath checks a path for use inside a sandbox. It may contain .. and
// links: PID 1 opens it, and there everything is inside.
func insidePath(what, p string) error {
	if !path.IsAbs(p) || len(p) > maxPathLength || strings.ContainsRune(p, 0) {
		return sandbox.Errorf(sandbox.Invalid, "%s %.128q is not an absolute path", what, p)
	}
	return nil
}
