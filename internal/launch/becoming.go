package launch

import (
	"path"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/stub"
)

// maxNote is what a pipe takes whole or not at all (PIPE_BUF).
const maxNote = 4096

// becoming is a request as a stub understands it. It reports false for all but
// ordinary programs of root, which a stub is already: other users, who have to be
// looked up, input and large requests are PID 1's.
func becoming(s initproto.Spawn) ([]byte, bool) {
	if s.Stdin || (s.User != "root" && s.User != "0") || !path.IsAbs(s.Dir) || s.Note == "" || len(s.Note) > maxNote {
		return nil, false
	}
	env := initproto.WithHome(s.Env, "/root", "root")
	files := initproto.ProgramFiles(s.Argv[0], s.Dir, env)
	return stub.Exec{Dir: s.Dir, Files: files, Argv: s.Argv, Env: env}.Message()
}
