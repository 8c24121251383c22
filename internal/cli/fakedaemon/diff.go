package fakedaemon

import (
	"io"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// diff answers with Diff, or with its text when a patch is asked for.
func (d *Daemon) diff(w http.ResponseWriter, r *http.Request) {
	answer := d.Diff
	if answer == nil {
		answer = &api.Diff{Files: []api.FileChange{}}
	}
	if r.URL.Query().Get("format") == "patch" {
		_, _ = io.WriteString(w, answer.UnifiedDiff) // a client that has gone cannot be told so
		return
	}
	reply(w, http.StatusOK, answer)
}
