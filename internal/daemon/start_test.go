package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/linux/selfproc"
	"github.com/coop-dev/coop/internal/sandbox"
)

// told is what a command hears of a daemon that reports err.
func told(t *testing.T, err error) error {
	t.Helper()
	r, w, perr := os.Pipe()
	if perr != nil {
		t.Fatal(perr)
	}
	defer r.Close()
	reporter{w}.send(err)
	return await(t.Context(), r, "/home")
}

func TestReport(t *testing.T) {
	if err := told(t, nil); err != nil {
		t.Errorf("a daemon that serves: %v", err)
	}
	for _, err := range []error{
		sandbox.Errorf(sandbox.Unavailable, "no\nnamespaces %q", "x").WithHint("do this\nand that"),
		sandbox.Errorf(sandbox.Denied, "no hint"),
	} {
		var want, got *sandbox.Error
		errors.As(err, &want)
		if !errors.As(told(t, err), &got) || got.Code != want.Code || got.Message != want.Message || got.Hint != want.Hint {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	if err := told(t, errors.New("plain")); sandbox.CodeOf(err) != sandbox.Internal || err.Error() != "plain" {
		t.Errorf("%v", err)
	}
	reporter{}.send(errors.New("nobody listens")) // started by hand
}

func TestAwaitADaemonThatEnds(t *testing.T) {
	for _, said := range []string{"", "half a li"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(said); err != nil {
			t.Fatal(err)
		}
		w.Close()
		var e *sandbox.Error
		if err := await(t.Context(), r, "/my/home"); !errors.As(err, &e) || e.Code != sandbox.Unavailable || !strings.Contains(e.Hint, "/my/home/daemon.log") {
			t.Errorf("%q: %v", said, err)
		}
		r.Close()
	}
}

func TestAwaitGarbage(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("panic: oh\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := await(t.Context(), r, "/home"); err == nil {
		t.Error("garbage is a daemon that serves")
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := await(ctx, r, "/home"); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// TestAnswersAndListen: also where the path is too long for an address.
func TestAnswersAndListen(t *testing.T) {
	for _, home := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("x", 150))} {
		if err := makeHome(home); err != nil {
			t.Fatal(err)
		}
		if answers(home) {
			t.Error("nobody answers")
		}
		if err := os.WriteFile(filepath.Join(home, "daemon.sock"), nil, 0o600); err != nil { // one left by the last
			t.Fatal(err)
		}
		ln, err := listen(home)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(filepath.Join(home, "daemon.sock")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		got := make(chan int, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				t.Error(err)
				got <- -1
				return
			}
			defer c.Close()
			uid, err := peerUID(c.(*net.UnixConn))
			if err != nil {
				t.Error(err)
			}
			got <- uid
		}()
		if !answers(home) {
			t.Error("it does not answer")
		}
		if uid := <-got; uid != os.Getuid() {
			t.Errorf("the peer is %d", uid)
		}
		// With somebody answering, Start has nothing to do.
		go func() {
			if c, err := ln.Accept(); err == nil {
				c.Close()
			}
		}()
		if err := Start(t.Context(), home); err != nil {
			t.Error(err)
		}
		ln.Close()
	}
}

func TestTakeLock(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "daemon.pid"), []byte("1234567890123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := takeLock(home)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(f.Name()); err != nil || strings.TrimSpace(string(b)) == "" || strings.Contains(string(b), "1234567890123") {
		t.Errorf("%q, %v", b, err)
	}
	other, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := selfproc.Lock(other, false); !selfproc.Held(err) {
		t.Errorf("a second daemon: %v", err)
	}
	next := make(chan error, 1) // one that waits for the first to end
	go func() {
		g, err := takeLock(home)
		if err == nil {
			g.Close()
		}
		next <- err
	}()
	f.Close()
	if err := <-next; err != nil {
		t.Error(err)
	}
	if _, err := takeLock(filepath.Join(home, "none")); sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Errorf("a lock in nothing: %v", err)
	}
}
