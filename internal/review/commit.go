package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Commit asks for a git commit of exactly what is applied.
type Commit struct {
	Message string // "" is the policy's template
	Author  string // agent, reviewer, coauthor, or "Name <address>"
}

// commitJob is a commit that exists under a name of its own until the files are
// in the project; then HEAD moves to it, if it is still where it was.
//
// The commit is made by fast-import: it needs no index, no work tree and no
// configuration, runs no hook and no filter, and what the person has staged is
// not touched.
type commitJob struct {
	git      git
	repo     string
	prefix   string
	old      string // commit HEAD was at, "" when there is none yet
	new      string
	ref      string
	paths    []string // in the repository
	reviewer string
}

// prepareCommit makes the commit. Nothing shows of it yet.
func (r *Review) prepareCommit(ctx context.Context, q Request, applied []string, edits []Edit) (*commitJob, error) {
	repo, gitDir := findRepository(r.Project)
	if gitDir == "" {
		return nil, sandbox.Errorf(sandbox.Invalid, "%s is not in a git repository", r.Project).WithHint("approve without --commit")
	}
	j := &commitJob{git: r.gitOf(gitDir), repo: repo, ref: "refs/coop/" + random()}
	if rel, err := filepath.Rel(repo, r.Project); err == nil && rel != "." {
		j.prefix = rel + "/"
	}
	if out, err := j.git.run(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		j.old = strings.TrimSpace(string(out))
	}
	j.reviewer = r.reviewer(ctx, gitDir)
	message, err := r.message(q, applied, j.reviewer)
	if err != nil {
		return nil, err
	}
	author, trailer, err := r.author(q.Commit.Author, j.reviewer)
	if err != nil {
		return nil, err
	}
	ignored, err := j.ignored(ctx, edits)
	if err != nil {
		return nil, err
	}
	stream, err := r.stream(j, edits, ignored, author, strings.TrimRight(message, "\n")+"\n"+trailer)
	if err != nil {
		return nil, err
	}
	if _, err := j.git.run(ctx, bytes.NewReader(stream), "fast-import", "--quiet", "--done"); err != nil {
		return nil, sandbox.Errorf(sandbox.Unavailable, "git commit: %w", err).WithHint("nothing was applied")
	}
	out, err := j.git.run(ctx, nil, "rev-parse", "--verify", j.ref)
	j.new = strings.TrimSpace(string(out))
	return j, err
}

func (r *Review) gitOf(dir string) git {
	g := git{dir: dir}
	if r.RealRoot {
		if uid, gid, err := owner(r.project); err == nil && uid != 0 {
			g.uid, g.gid, g.as = uid, gid, true
		}
	}
	return g
}

// message fills in the template.
func (r *Review) message(q Request, applied []string, reviewer string) (string, error) {
	text := q.Commit.Message
	if text == "" {
		text = r.Policy.CommitMessage
	}
	if text == "" {
		text = sandbox.DefaultCommitMessage
	}
	t, err := template.New("message").Parse(text)
	if err != nil {
		return "", sandbox.Errorf(sandbox.Invalid, "commit message: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"Sandbox": r.Name, "Files": len(applied), "Paths": applied, "Reviewer": reviewer})
	if err != nil {
		return "", sandbox.Errorf(sandbox.Invalid, "commit message: %w", err)
	}
	if strings.TrimSpace(b.String()) == "" {
		return "", sandbox.Errorf(sandbox.Invalid, "the commit message is empty")
	}
	return b.String(), nil
}

// ignored finds files git would not add by itself.
func (j *commitJob) ignored(ctx context.Context, edits []Edit) (map[string]bool, error) {
	var in bytes.Buffer
	for _, e := range edits {
		if e.Action == PutFile || e.Action == PutLink {
			in.WriteString(j.prefix + e.Path + "\x00")
		}
	}
	out := map[string]bool{}
	if in.Len() == 0 {
		return out, nil
	}
	g := j.git
	g.tree = j.repo
	text, err := g.run(ctx, &in, "check-ignore", "-z", "--stdin")
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // none is ignored
		return nil, err
	}
	for _, p := range strings.Split(string(text), "\x00") {
		if p != "" {
			out[p] = true
		}
	}
	return out, nil
}

// stream is what fast-import reads, git-fast-import(1).
func (r *Review) stream(j *commitJob, edits []Edit, ignored map[string]bool, author, message string) ([]byte, error) {
	var b bytes.Buffer
	now := time.Now()
	when := fmt.Sprintf("%d %s", now.Unix(), now.Format("-0700"))
	fmt.Fprintf(&b, "commit %s\nauthor %s %s\ncommitter %s %s\ndata %d\n%s\n", j.ref, author, when, j.reviewer, when, len(message), message)
	if j.old != "" {
		fmt.Fprintf(&b, "from %s\n", j.old)
	}
	for _, e := range edits {
		p := j.prefix + e.Path
		if ignored[p] {
			continue
		}
		if err := r.streamEdit(&b, e, quote(p)); err != nil {
			return nil, err
		}
		if e.Action != MakeDir {
			j.paths = append(j.paths, p)
		}
	}
	b.WriteString("\ndone\n")
	return b.Bytes(), nil
}

func (r *Review) streamEdit(b *bytes.Buffer, e Edit, quoted string) error {
	switch e.Action {
	case Remove:
		fmt.Fprintf(b, "D %s\n", quoted)
	case PutLink:
		fmt.Fprintf(b, "M 120000 inline %s\ndata %d\n%s\n", quoted, len(e.Target), e.Target)
	case PutFile:
		return streamFile(b, e.Body, gitMode(e), quoted)
	case Chmod:
		return r.streamMode(b, e, quoted)
	}
	return nil
}

func streamFile(b *bytes.Buffer, body *Body, mode, quoted string) error {
	data, err := body.Bytes()
	if err != nil {
		return sandbox.Errorf(sandbox.TooLarge, "a file is too large to be committed here").
			WithHint("approve without --commit and commit it with git")
	}
	fmt.Fprintf(b, "M %s inline %s\ndata %d\n", mode, quoted, len(data))
	b.Write(data)
	b.WriteByte('\n')
	return nil
}

// streamMode commits the file as the project has it, with other permissions.
func (r *Review) streamMode(b *bytes.Buffer, e Edit, quoted string) error {
	if e.Seen == nil || !e.Seen.Mode.IsRegular() {
		return nil // git knows no permissions of directories
	}
	f, err := within.OpenRegular(r.project, e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	body, err := r.scratch.Read(f, maxFile)
	if err != nil {
		return err
	}
	return streamFile(b, body, modeWord(e.Perm), quoted)
}

func gitMode(e Edit) string {
	perm := e.Perm
	if e.Seen != nil && e.Seen.Mode.IsRegular() {
		perm = executable(e.Seen.Mode.Perm(), e.Exec)
	}
	return modeWord(perm)
}

func modeWord(perm fs.FileMode) string {
	if perm&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// quote writes a path as fast-import reads it, whatever its bytes.
func quote(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(p) {
		switch c := p[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// abandon removes the name of a commit that is not wanted any more.
func (j *commitJob) abandon(ctx context.Context) {
	_, _ = j.git.run(context.WithoutCancel(ctx), nil, "update-ref", "-d", j.ref) // git prunes what has no name
}

// finishCommit moves HEAD. The files are applied by now: what fails here is told
// in a note.
func (r *Review) finishCommit(ctx context.Context, j *commitJob, res *Result) {
	ctx = context.WithoutCancel(ctx)
	defer j.abandon(ctx)
	old := j.old
	if old == "" {
		old = strings.Repeat("0", len(j.new))
	}
	if _, err := j.git.run(ctx, nil, "update-ref", "-m", "coop: approve "+r.Name, "HEAD", j.new, old); err != nil {
		res.Notes = append(res.Notes, "applied, but not committed: "+err.Error())
		return
	}
	res.Commit = j.new
	if err := j.refreshIndex(ctx); err != nil {
		res.Notes = append(res.Notes, "committed, but git's index was not updated: "+err.Error())
	}
}
