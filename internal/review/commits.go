package review

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Export gives what the agent has committed: a git bundle of everything its HEAD
// has and the given commit has not. It is made inside the sandbox; nothing in it
// is believed. nil means that there is nothing.
type Export func(ctx context.Context, base string) (io.ReadCloser, error)

// ApproveCommits takes over the agent's own commits: the project's HEAD moves to
// the agent's, and the files they change arrive in the project as with any other
// approve. For that the commits must be what the reviewer could see: of every
// file they change, the last state is the workspace's.
func (r *Review) ApproveCommits(ctx context.Context, q Request, export Export) (*Result, error) {
	j, err := r.openHistory(ctx)
	if err != nil {
		return nil, err
	}
	bundle, err := export(ctx, j.old)
	if err != nil {
		return nil, err
	}
	res := &Result{Applied: []string{}, Conflicts: []Conflict{}}
	if bundle == nil {
		res.Notes = append(res.Notes, "the agent has made no commits")
		return res, r.count(ctx, res)
	}
	defer bundle.Close() //nolint:errcheck // only read
	if j.new, err = j.receive(ctx, bundle); err != nil {
		return nil, err
	}
	diffs, err := j.changed(ctx)
	if err != nil {
		return nil, err
	}
	picks, err := r.pickCommitted(ctx, q, diffs)
	if err != nil {
		return nil, err
	}
	return res, r.takeOver(ctx, q, res, picks, j)
}

// openHistory finds the project's repository and where it is.
func (r *Review) openHistory(ctx context.Context) (*commitJob, error) {
	repo, gitDir := findRepository(r.Project)
	if gitDir == "" {
		return nil, sandbox.Errorf(sandbox.Invalid, "%s is not in a git repository", r.Project)
	}
	j := &commitJob{git: r.gitOf(gitDir), repo: repo}
	if rel, err := filepath.Rel(repo, r.Project); err == nil && rel != "." {
		j.prefix = rel + "/"
	}
	out, err := j.git.run(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "the project has no commit to go on from").
			WithHint("approve the files with --commit instead")
	}
	j.old = strings.TrimSpace(string(out))
	return j, nil
}

// maxBundle bounds what an agent's commits may weigh.
const maxBundle = 1 << 30

// receive reads a bundle (gitformat-bundle(5)) and has git check and store its
// objects, as it does with those of any stranger it fetches from. Objects that
// no name leads to in the end are pruned by git.
func (j *commitJob) receive(ctx context.Context, bundle io.Reader) (tip string, err error) {
	in := bufio.NewReader(io.LimitReader(bundle, maxBundle))
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil || len(line) > 4096 || (first && line != "# v2 git bundle\n" && line != "# v3 git bundle\n") {
			return "", badBundle(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		if name, ref, _ := strings.Cut(line, " "); ref == "HEAD" && isHash(name, len(j.old)) {
			tip = name
		}
	}
	if tip == "" {
		return "", badBundle(nil)
	}
	if _, err := j.git.run(ctx, in, "index-pack", "--stdin", "--fix-thin", "--strict"); err != nil {
		return "", badBundle(err)
	}
	// Everything the commit needs must be there: nothing is fetched.
	if _, err := j.git.run(ctx, nil, "rev-list", "--objects", "--quiet", j.old+".."+tip); err != nil {
		return "", badBundle(err)
	}
	_, err = j.git.run(ctx, nil, "merge-base", "--is-ancestor", j.old, tip)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", sandbox.Errorf(sandbox.Conflict, "the project's history has moved on since the agent began").
			WithHint("rebase in the sandbox: git rebase %.12s", j.old)
	}
	return tip, err
}

func badBundle(err error) error {
	if err == nil {
		err = errors.New("it is not what git writes")
	}
	return sandbox.Errorf(sandbox.Denied, "the agent's commits cannot be taken over: %w", err).
		WithHint("approve the files instead")
}

func isHash(s string, length int) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == length
}

// committed is one path that the commits change.
type committed struct {
	mode, hash string // "000000" when they remove it
}

// changed lists what the commits change, by path in the project.
func (j *commitJob) changed(ctx context.Context) (map[string]committed, error) {
	out, err := j.git.run(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", j.old, j.new)
	if err != nil {
		return nil, err
	}
	all := map[string]committed{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i]) // :oldmode newmode oldhash newhash status
		p, inside := strings.CutPrefix(fields[i+1], j.prefix)
		switch {
		case len(f) != 5:
			return nil, fmt.Errorf("git diff-tree: unexpected line %.64q", fields[i])
		case !inside:
			return nil, sandbox.Errorf(sandbox.Denied, "the commits change %.128q, which is outside of the project", fields[i+1])
		case f[1] == "160000" || f[0] == ":160000":
			return nil, sandbox.Errorf(sandbox.Denied, "the commits change the submodule %.128q", p).
				WithHint("submodules are not taken over")
		}
		if err := checkPath(p); err != nil {
			return nil, err
		}
		all[p] = committed{mode: f[1], hash: f[3]}
		j.paths = append(j.paths, fields[i+1])
	}
	return all, nil
}

// pickCommitted finds the changes that the commits are made of. They must be
// exactly what the workspace shows of these files: that is what was reviewed.
func (r *Review) pickCommitted(ctx context.Context, q Request, diffs map[string]committed) ([]*pick, error) {
	list, err := r.space.List(ctx, changes.Options{Policy: r.policy()})
	if err != nil {
		return nil, err
	}
	var picks []*pick
	known := map[string]bool{}
	for _, c := range list {
		_, here := diffs[c.Path]
		_, there := diffs[c.OldPath]
		if c.Kind == changes.Renamed && here && there {
			known[c.OldPath] = true
		}
		if !here {
			continue
		}
		known[c.Path] = true
		if !c.Pending() {
			return nil, never(c)
		}
		if len(c.Flagged) > 0 && !q.Flagged {
			return nil, sandbox.Errorf(sandbox.Denied, "the commits change %.128q, which is flagged: %s", c.Path, c.Flagged[0]).
				WithHint("look at it, then add --flagged")
		}
		picks = append(picks, &pick{Change: c})
	}
	for _, p := range picks {
		if err := r.read(p); err != nil {
			return nil, err
		}
		if err := p.isCommitted(diffs[p.Path]); err != nil {
			return nil, err
		}
	}
	return picks, r.unknownCommitted(diffs, known)
}

// unknownCommitted looks at files the commits change that are no change of the
// workspace: the project must have them already.
func (r *Review) unknownCommitted(diffs map[string]committed, known map[string]bool) error {
	for path, c := range diffs {
		if known[path] {
			continue
		}
		st, err := r.look(path)
		if err != nil {
			return err
		}
		if st == nil && c.mode == "000000" {
			continue
		}
		p := &pick{Change: changes.Change{Path: path}}
		if st != nil && st.Mode.IsRegular() {
			p.seen, p.New = st, changes.State{Exists: true, Mode: st.Mode}
			data, err := r.oldContent(p)
			if err != nil {
				return err
			}
			p.body = NewBody(data)
		}
		if err := p.isCommitted(c); err != nil {
			return err
		}
	}
	return nil
}

// isCommitted compares the workspace's side with what was committed.
func (p *pick) isCommitted(c committed) error {
	same := false
	switch c.mode {
	case "000000":
		same = !p.New.Exists || p.New.Mode.IsDir()
	case "120000":
		same = p.New.Mode&fs.ModeSymlink != 0 && c.hash == blobHash([]byte(p.New.Link), len(c.hash))
	case "100644", "100755":
		if p.body != nil {
			data, err := p.body.Bytes()
			if err != nil {
				return sandbox.Errorf(sandbox.TooLarge, "%.128q is too large to be taken over with its commit", p.Path)
			}
			same = c.hash == blobHash(data, len(c.hash)) && (c.mode == "100755") == (p.New.Mode&0o100 != 0)
		}
	}
	if !same {
		return sandbox.Errorf(sandbox.Conflict, "%.128q is another in the workspace than in the agent's last commit", p.Path).
			WithHint("commit or restore it in the sandbox first, so that what is reviewed is what arrives")
	}
	return nil
}

// blobHash is git's name for content.
func blobHash(data []byte, length int) string {
	var h hash.Hash = sha1.New() // git's, not a promise of ours
	if length == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// takeOver brings the files into the project and then HEAD to the commits.
func (r *Review) takeOver(ctx context.Context, q Request, res *Result, picks []*pick, j *commitJob) error {
	var err error
	if res.Conflicts, err = r.conflicts(ctx, picks); err != nil {
		return err
	}
	if len(res.Conflicts) > 0 {
		return sandbox.Errorf(sandbox.Conflict, "%.128q has changed in the project too", res.Conflicts[0].Path).
			WithHint("rebase in the sandbox, or approve the files instead").WithDetail("conflicts", res.Conflicts)
	}
	res.Conflicts = []Conflict{}
	q.Commit = nil
	return r.applyThen(ctx, q, res, picks, func(ctx context.Context) { r.moveHead(ctx, j, res) })
}

// moveHead makes the agent's commits the project's.
func (r *Review) moveHead(ctx context.Context, j *commitJob, res *Result) {
	if _, err := j.git.run(ctx, nil, "update-ref", "-m", "coop: take over commits of "+r.Name, "HEAD", j.new, j.old); err != nil {
		res.Notes = append(res.Notes, "applied, but the commits were not taken over: "+err.Error())
		return
	}
	res.Commit = j.new
	if err := j.refreshIndex(ctx); err != nil {
		res.Notes = append(res.Notes, "committed, but git's index was not updated: "+err.Error())
	}
}
