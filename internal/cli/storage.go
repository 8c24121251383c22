package cli

import (
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/api"
)

// applyStorage puts flags about what outlives the sandbox into the request.
func (s *specFlags) applyStorage(req *api.CreateRequest) {
	if s.given("cache") {
		req.Cache = s.caches
	}
	if s.given("upper") {
		req.Upper = s.upper
	}
	if s.given("reserve") {
		req.Workspace.Reserve = s.reserve
	}
	if s.mode == "none" {
		// Files speak of the project; without it there is nothing to keep or reserve.
		req.Persist = nil
		if !s.given("reserve") {
			req.Workspace.Reserve = nil
		}
	}
}

// mountPath makes a path of the command line absolute. A shell leaves ~ alone in
// the middle of a word, as in --mount ~/x:/x with =.
func mountPath(p string) (string, error) {
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, err := personHome()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, p[1:]), nil
	}
	return filepath.Abs(p)
}
