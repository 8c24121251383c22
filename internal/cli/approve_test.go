package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// reviewDaemon answers a diff and keeps what is approved.
type reviewDaemon struct {
	*fakedaemon.Daemon
	answers  []api.ApproveResult
	approved []api.ApproveRequest
}

func newReviewDaemon(t *testing.T, d api.Diff, answers ...api.ApproveResult) *reviewDaemon {
	t.Helper()
	r := &reviewDaemon{Daemon: fakedaemon.New(t), answers: answers}
	r.Diff = &d
	r.Extra = map[string]http.HandlerFunc{
		"POST /api/v1/sandboxes/{ref}/approve": func(w http.ResponseWriter, req *http.Request) {
			var q api.ApproveRequest
			_ = json.NewDecoder(req.Body).Decode(&q)
			r.approved = append(r.approved, q)
			answer := api.ApproveResult{Applied: q.Files}
			if len(r.answers) > 0 {
				answer, r.answers = r.answers[0], r.answers[1:]
			}
			_ = json.NewEncoder(w).Encode(answer)
		},
	}
	r.Listen(t)
	r.Add(api.Sandbox{ID: "id1", Name: "box", Status: "running"})
	return r
}

// terminal is a person at a terminal who has typed everything ahead.
func terminal(t *testing.T, typed string) (*os.File, *lockedText) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := &lockedText{done: make(chan struct{})}
	go func() {
		defer close(shown.done)
		_, _ = io.Copy(&shown.b, master) // ends with EIO when the slave is closed
	}()
	if _, err := io.WriteString(master, typed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	return slave, shown
}

// lockedText is what a terminal has shown, readable once it is closed.
type lockedText struct {
	b    bytes.Buffer
	done chan struct{}
}

func (l *lockedText) close(slave *os.File) string {
	slave.Close()
	<-l.done
	return l.b.String()
}

func hunkOf(index int, lines ...string) api.Hunk {
	return api.Hunk{Index: index, ID: "id" + strconv.Itoa(index), Header: "@@ -1 +1 @@", Lines: lines}
}

func reviewDiff() api.Diff {
	return api.Diff{Files: []api.FileChange{
		{FilePath: ".git", ChangeType: "modified", Status: "denied", Mode: "040755"},
		{FilePath: "a", ChangeType: "modified", Status: "pending", Mode: "100644", OldMode: "100644", Hunks: []api.Hunk{
			hunkOf(0, " x", "-1", "+2"), hunkOf(1, " c", "+3", " d", "-4", " e"), hunkOf(2, "+5"),
		}},
		{FilePath: "evil\x1b[2J", ChangeType: "added", Status: "pending", Mode: "100644", Hunks: []api.Hunk{hunkOf(0, "+\x1b]0;t\x07")}},
		{FilePath: "z", ChangeType: "modified", Status: "pending", Mode: "100644", OldMode: "100644", Hunks: []api.Hunk{hunkOf(0, "+1"), hunkOf(1, "+2")}},
	}}
}

func TestApproveInteractively(t *testing.T) {
	for typed, want := range map[string]*api.ApproveRequest{
		"q\n":             nil,
		"n\nn\nn\nn\nd\n": nil,
		"y\nn\nn\nn\nq\n": {Hunks: []api.HunkRef{{FilePath: "a", Index: 0, ID: "id0"}}},
		"?\nwhat\na\nn\nn\nn\n": {Hunks: []api.HunkRef{
			{FilePath: "a", Index: 0, ID: "id0"}, {FilePath: "a", Index: 1, ID: "id1"}, {FilePath: "a", Index: 2, ID: "id2"},
		}},
		"n\ns\nn\ny\nn\ny\nd\n": {
			Files: []string{"evil\x1b[2J"}, Hunks: []api.HunkRef{{FilePath: "a", Index: 1, ID: "id1", Parts: []int{1}}},
		},
		"d\nn\na\n": {Hunks: []api.HunkRef{{FilePath: "z", Index: 0, ID: "id0"}, {FilePath: "z", Index: 1, ID: "id1"}}},
	} {
		d := newReviewDaemon(t, reviewDiff())
		slave, shown := terminal(t, typed)
		var out bytes.Buffer
		status := Main([]string{"--home", d.Home, "approve", "-i", "-s", "box"}, Streams{In: slave, Out: &out, Err: slave}, Hooks{})
		text := shown.close(slave)
		if status != 0 {
			t.Errorf("%q: status %d: %s", typed, status, text)
		}
		if strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\x1b]0;") {
			t.Errorf("%q: the sandbox reached the terminal: %q", typed, text)
		}
		switch {
		case want == nil && len(d.approved) != 0:
			t.Errorf("%q: approved %+v", typed, d.approved)
		case want != nil && len(d.approved) != 1:
			t.Errorf("%q: %d requests", typed, len(d.approved))
		case want != nil:
			if diff := cmp.Diff(*want, d.approved[0]); diff != "" {
				t.Errorf("%q: %s", typed, diff)
			}
		}
	}
}

// TestConfirmFlagged: on a terminal the flagged files are asked about.
func TestConfirmFlagged(t *testing.T) {
	left := api.ApproveResult{Applied: []string{"a"}, Remaining: 1, Flagged: []string{".envrc"}}
	for typed, want := range map[string]int{"y\n": 2, "n\n": 1, "\n": 1} {
		d := newReviewDaemon(t, api.Diff{}, left)
		slave, shown := terminal(t, typed)
		status := Main([]string{"--home", d.Home, "approve", "-s", "box"}, Streams{In: slave, Out: io.Discard, Err: slave}, Hooks{})
		text := shown.close(slave)
		if status != 0 || !strings.Contains(text, "flagged") || len(d.approved) != want {
			t.Errorf("%q: status %d, %d requests: %s", typed, status, len(d.approved), text)
		}
		if want == 2 {
			if diff := cmp.Diff(api.ApproveRequest{Files: []string{".envrc"}, Flagged: true}, d.approved[1]); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestApproveWithoutATerminal(t *testing.T) {
	d := newReviewDaemon(t, reviewDiff(), api.ApproveResult{
		Applied: []string{"a"}, Flagged: []string{".envrc"}, Notes: []string{"an approve was interrupted"}, CommitHash: "c0ffee",
		Conflicts: []api.Conflict{{FilePath: "a", Resolution: "merged"}, {FilePath: "b", Resolution: "overwritten", Saved: "/copy"}},
	})
	var out, errs bytes.Buffer
	status := Main([]string{"--home", d.Home, "approve", "-s", "box", "--hunk", "x:y:3", "--commit", "-m", "msg", "--force"}, Streams{Out: &out, Err: &errs}, Hooks{})
	if status != 0 || out.String() != "a\n" {
		t.Errorf("%d %q", status, out.String())
	}
	for _, part := range []string{"interrupted", "merged with", "a copy is /copy", "flagged: .envrc", "hint: ", "committed c0ffee", "1 change applied"} {
		if !strings.Contains(errs.String(), part) {
			t.Errorf("does not say %q: %s", part, errs.String())
		}
	}
	want := api.ApproveRequest{Hunks: []api.HunkRef{{FilePath: "x:y", Index: 3}}, Force: true, Commit: &api.CommitRequest{Message: "msg"}}
	if diff := cmp.Diff(want, d.approved[0]); diff != "" {
		t.Error(diff)
	}
	for _, args := range [][]string{{"-i"}, {"-m", "x"}, {"--hunk", "x"}, {"--hunk", ":1"}, {"--auto", "--force"}, {"-i", "--hunk", "a:1"}} {
		if status := Main(append([]string{"--home", d.Home, "approve", "-s", "box"}, args...), Streams{Out: io.Discard, Err: io.Discard}, Hooks{}); status != 2 {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

func TestSplitHunk(t *testing.T) {
	h := api.Hunk{Lines: []string{" a", "-b", "+B", " c", " d", "+e", `\ No newline at end of file`}}
	var got [][]string
	for _, p := range splitHunk(h) {
		got = append(got, p.Lines)
	}
	want := [][]string{{" a", "-b", "+B", " c"}, {" c", " d", "+e", `\ No newline at end of file`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(splitHunk(api.Hunk{Lines: []string{"+a", " b", `\ No newline at end of file`}})); n != 1 {
		t.Errorf("%d parts", n)
	}
}
