package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// gitTime bounds one run of git.
const gitTime = time.Minute

// maxGitOutput bounds what is kept of it.
const maxGitOutput = 64 << 20

// git runs git on a repository that an agent may have had its hands on: a bind
// workspace holds the real .git. So nothing the repository says is run: hooks,
// filters, fsmonitor, pagers, editors, signing, helpers and transports are all
// off, and only plumbing is called that needs none of them.
type git struct {
	dir      string // --git-dir
	tree     string // the work tree, for commands that want one
	personal string // home of the person whose own configuration is read; "" reads none
	uid, gid uint32 // real root: whom the repository belongs to
	as       bool
}

// safely are the settings that a repository's own cannot override.
var safely = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
	"core.pager=cat", "core.editor=false", "core.sshCommand=false", "core.askPass=false", "core.gitProxy=false",
	"core.untrackedCache=false", "core.preloadIndex=false", "core.autocrlf=false", "core.safecrlf=false",
	"core.alternateRefsCommand=false", "credential.helper=", "gpg.program=false", "gpg.ssh.program=false",
	"gpg.x509.program=false", "commit.gpgSign=false", "tag.gpgSign=false", "diff.external=", "protocol.allow=never",
	"gc.auto=0", "maintenance.auto=false", "submodule.recurse=false", "safe.directory=*", "log.showSignature=false",
}

// run gives what git prints.
func (g git) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Unavailable, "git is not installed here")
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, g.arguments(args)...)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", g.environment(), stdin
	if g.tree != "" {
		cmd.Dir = g.tree
	}
	out, complaint := &capped{max: maxGitOutput}, &capped{max: 4096}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g.as {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: g.uid, Gid: g.gid}
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, firstLine(complaint.buf.String()))
	}
	if out.over {
		return nil, errors.New("git " + args[0] + ": more output than can be used")
	}
	return out.buf.Bytes(), nil
}

func (g git) arguments(args []string) []string {
	all := []string{"--git-dir=" + g.dir, "--no-optional-locks", "--no-replace-objects", "--no-pager"}
	if args[0] != "check-ignore" { // which takes paths, and refuses to be told so
		all = append(all, "--literal-pathspecs")
	}
	for _, s := range safely {
		all = append(all, "-c", s)
	}
	return append(all, args...)
}

func (g git) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=false", "GIT_PAGER=cat",
	}
	if g.tree != "" {
		env = append(env, "GIT_WORK_TREE="+g.tree)
	}
	if g.personal != "" {
		return append(env, "HOME="+g.personal)
	}
	return append(env, "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// capped keeps the first bytes of what is written to it.
type capped struct {
	buf  bytes.Buffer
	max  int
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.max - c.buf.Len(); len(p) > room {
		c.over = true
		c.buf.Write(p[:room])
		return len(p), nil
	}
	return c.buf.Write(p)
}
