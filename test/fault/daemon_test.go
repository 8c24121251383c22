package fault

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/test/harness"
)

// The daemon dies while sandboxes are idle: they go on, and the next command
// finds them and can do everything with them.
func TestKilledIdle(t *testing.T) {
	c := harness.Client(t)
	project := harness.Project(t)
	one, two := create(t, c, ""), harness.Create(t, "--workspace", project)
	wantShell(t, c, one.ID, "echo before >/workspace/note", "")
	background(t, c, one.ID, "sleep 5151")
	init := hold(t, one.PID)
	old := harness.DaemonPID(t)

	harness.KillDaemon(t)
	if !init.Alive() {
		t.Fatal("the sandbox died with the daemon")
	}
	if r := harness.Exec(t, one.ID, "cat", "/workspace/note"); r.Code != 0 || r.Stdout != "before\n" {
		t.Fatalf("the next command: %+v", r)
	}
	if now := harness.DaemonPID(t); now == old {
		t.Error("no new daemon")
	}
	if processOf(t, c, one.ID, "sleep 5151") == 0 {
		t.Errorf("a process of the sandbox is gone: %q", running(t, c, one.ID))
	}
	if sb, err := c.Get(within(t, time.Minute), one.ID); err != nil || sb.Status != "running" || sb.PID != one.PID {
		t.Errorf("%+v, %v", sb, err)
	}
	for _, id := range []string{one.ID, two} {
		wantUsable(t, c, id)
		wantLife(t, c, id)
	}
	if init.Alive() {
		t.Error("PID 1 is there after delete")
	}
	harness.Shared().NoneLeft(t)
}

// What a finished command has left running in the background survives the daemon
// that dies right after it has answered.
func TestKilledAfterExec(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	for i := range 10 {
		command := fmt.Sprintf("sleep 52%02d", i)
		wantShell(t, c, sb.ID, command+" >/dev/null 2>&1 &", "")
		harness.KillDaemon(t)
		if all := running(t, c, sb.ID); len(all) != i+1 {
			t.Fatalf("%s is gone after the daemon was killed: %q", command, all)
		}
	}
}

// The daemon dies again and again, also right after it has come up.
func TestKilledRepeatedly(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	for range 5 {
		harness.Shared().StartDaemon(t)
		harness.KillDaemon(t)
	}
	wantUsable(t, c, sb.ID)
	wantLife(t, c, sb.ID)
	harness.Shared().NoneLeft(t)
}

// The daemon dies while commands run. One that streams to a client goes on
// without it, one that answers a request ends; the sandbox serves the next.
func TestKilledDuringExec(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "mkfifo /workspace/go /workspace/plain", "")
	stream, err := c.Attach(within(t, time.Minute), sb.ID, api.ExecRequest{
		Command: "echo started; read x </workspace/go; echo done >/workspace/go", OnExit: "keep",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	readUntil(t, stream, "started\n")
	plain := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), sb.ID, api.ExecRequest{Command: "echo here >/workspace/plain; exec sleep 6161"})
		plain <- err
	}()
	wantShell(t, c, sb.ID, "cat /workspace/plain", "here")

	harness.KillDaemon(t)
	if err := <-plain; err == nil {
		t.Error("an exec whose daemon died returned a result")
	}
	for {
		if _, err := stream.Next(); err != nil {
			break
		}
	}
	wantUsable(t, c, sb.ID)
	until(t, func() (int, bool) {
		pid := processOf(t, c, sb.ID, "sleep 6161")
		return pid, pid == 0
	})
	wantShell(t, c, sb.ID, "echo go >/workspace/go; cat /workspace/go", "done")
	untilNothingRuns(t, c, sb.ID)
}

// readUntil reads frames of stdout until they hold a text.
func readUntil(t *testing.T, s *client.Stream, text string) {
	t.Helper()
	var got strings.Builder
	for !strings.Contains(got.String(), text) {
		f, err := s.Next()
		if err != nil {
			t.Fatalf("%q, then %v", got.String(), err)
		}
		if f.Kind == api.FrameData {
			got.Write(f.Payload)
		}
		if f.Control != nil && f.Control.Error != nil {
			t.Fatal(f.Control.Error)
		}
	}
}

// The daemon dies at some point of many concurrent creates: what was answered
// exists, what was not is either whole or not there, and nothing is half made.
func TestKilledDuringCreates(t *testing.T) {
	h := harness.Shared()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 12 {
		h.StartDaemon(t)
		answered := killDuringCreates(t, h, random.IntN(10), random.IntN(3))
		c := h.Client(t)
		list, err := c.ListAll(within(t, time.Minute), client.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		ids := make([]string, 0, len(list))
		for _, sb := range list {
			there[sb.ID] = true
			ids = append(ids, sb.ID)
			if sb.Status != "running" {
				t.Errorf("round %d: %s is %s", round, sb.Name, sb.Status)
				continue
			}
			wantShell(t, c, sb.ID, "echo ok", "ok")
		}
		for _, id := range answered {
			if !there[id] {
				t.Errorf("round %d: %s was answered and is not there", round, id)
			}
		}
		h.NoneLeft(t, ids...)
		for _, id := range ids {
			if err := c.Delete(within(t, time.Minute), id); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
		h.NoneLeft(t)
		t.Logf("round %d: %d answered, %d there", round, len(answered), len(list))
	}
}

// killDuringCreates sends ten creates, four at a time, and kills the daemon
// after the n-th was answered and so many more were sent. It returns the
// answered ones.
func killDuringCreates(t *testing.T, h harness.Instance, n, more int) []string {
	t.Helper()
	c, err := client.New(client.Options{Socket: h.Socket()}) // which does not start a daemon
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events := make(chan string, 100) // an id that was answered, or "" for a request that goes out
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	go func() {
		defer close(events)
		for range 10 {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				events <- ""
				sb, err := c.Create(context.Background(), api.CreateRequest{Workspace: &api.Workspace{Mode: "none"}})
				if err == nil {
					events <- sb.ID
				}
			})
		}
		wg.Wait()
	}()
	var answered []string
	killed := false
	for e := range events {
		if e != "" {
			answered = append(answered, e)
		} else if len(answered) >= n {
			more--
		}
		if !killed && len(answered) >= n && more < 0 {
			h.KillDaemon(t)
			killed = true
		}
	}
	if !killed {
		h.KillDaemon(t)
	}
	return answered
}

// The daemon dies while it removes sandboxes: the next one finishes.
func TestKilledDuringDeletes(t *testing.T) {
	h := harness.Shared()
	for n := range 4 {
		c := h.Client(t)
		var ids []string
		for range 6 {
			ids = append(ids, create(t, c, "").ID)
		}
		done := make(chan error, len(ids))
		direct, err := client.New(client.Options{Socket: h.Socket()})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			go func() { done <- direct.Delete(context.Background(), id) }()
		}
		for range n {
			<-done
		}
		h.KillDaemon(t)
		for range len(ids) - n {
			<-done
		}
		direct.Close()
		list, err := c.ListAll(within(t, time.Minute), client.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, sb := range list {
			left = append(left, sb.ID)
		}
		h.NoneLeft(t, left...)
		for _, id := range left {
			if err := c.Delete(within(t, time.Minute), id); err != nil {
				t.Errorf("delete after an interrupted delete: %v", err)
			}
		}
		h.NoneLeft(t)
	}
}

// Twenty first commands at once start exactly one daemon.
func TestFirstCommandsAtOnce(t *testing.T) {
	h := harness.Private(t)
	ctx := within(t, time.Minute)
	out := make(chan string, 20)
	for range 20 {
		go func() {
			b, err := h.Command(ctx, "-v", "ls").CombinedOutput()
			if err != nil {
				b = fmt.Append(b, err)
			}
			out <- string(b)
		}()
	}
	for range 20 {
		if s := <-out; !strings.Contains(s, "NAME") {
			t.Error(s)
		}
	}
	log, err := os.ReadFile(filepath.Join(h.Dir, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(log, []byte("daemon serves")); n != 1 {
		t.Errorf("%d daemons served:\n%s", n, log)
	}
}

// A socket and a pid file that a dead daemon left are no hindrance, nor is a
// pid file that names somebody else's process.
func TestStaleFiles(t *testing.T) {
	h := harness.Shared()
	h.StartDaemon(t)
	h.KillDaemon(t)
	if _, err := os.Lstat(h.Socket()); err != nil {
		t.Fatal("the dead daemon left no socket: ", err)
	}
	if r := h.Coop(t, "status"); r.Code != 4 || !strings.Contains(r.Stderr, "no daemon is running") {
		t.Errorf("status: %+v", r)
	}
	h.StartDaemon(t)
	h.KillDaemon(t)
	for _, content := range []string{"1\n", strconv.Itoa(os.Getpid()) + "\n", "", "no number", strings.Repeat("9", 4096)} {
		if err := os.WriteFile(filepath.Join(h.Dir, "daemon.pid"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := h.Coop(t, "ls", "-q"); r.Code != 0 {
			t.Errorf("with daemon.pid %.20q: %s", content, r.Stderr)
		}
		h.KillDaemon(t)
	}
	if err := os.Remove(h.Socket()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Socket(), nil, 0o600); err != nil { // not even a socket
		t.Fatal(err)
	}
	if r := h.Coop(t, "ls", "-q"); r.Code != 0 {
		t.Errorf("with a file in place of the socket: %s", r.Stderr)
	}
}

// A command that is running while its daemon dies says so and does not hang.
func TestACommandWhoseDaemonDies(t *testing.T) {
	id := harness.Create(t)
	cmd := harness.Shared().Command(within(t, time.Minute), "exec", id, "--", "sh", "-c", "echo ready; exec sleep 7171")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	harness.KillDaemon(t)
	_ = cmd.Wait() // the status says it
	if code := cmd.ProcessState.ExitCode(); code != 125 || !strings.HasPrefix(stderr.String(), "coop: connection to the daemon lost") {
		t.Errorf("status %d, %q", code, stderr.String())
	}
}
