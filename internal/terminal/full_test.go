package terminal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const fullEnv = "COOP_TEST_FULL_DISK"

// TestFullDisk runs in a child with a mount namespace of its own, where a disk
// can be small.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(fullEnv); dir != "" {
		fullDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this host has no user namespaces: %v", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func fullDisk(t *testing.T, dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 3800<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newFakePty()
	p.limit = 512 << 10
	changes := make(chan error, 2)
	term := open(t, p, func(c *Config) {
		c.Dir, c.Scrollback, c.Degraded = filepath.Join(dir, "log"), 64<<20, func(err error) { changes <- err }
	})
	v := attach(t, term, ClientOptions{})
	v.keep = true
	out := bytes.Repeat([]byte("fifteen bytes!\n"), 100_000) // 1.5 MB
	go func() { p.print(out); p.exit() }()
	if err := <-changes; !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("degraded by %v", err)
	}
	if term.Info().Degraded == "" {
		t.Error("nobody is told")
	}
	v.until("degraded")
	p.await(func() bool { return len(p.bytes) == p.limit }) // the program waits
	for len(v.bytes) < p.printed() {                        // and the client has seen all there is
		if !v.step() {
			t.Fatal("live output stops")
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := <-changes; err != nil {
		t.Fatal(err)
	}
	if err := term.Exited(context.Background(), Status{}); err != nil {
		t.Fatal(err)
	}
	v.until("exit")
	checkHistory(t, term, out)
	if !bytes.Equal(v.bytes, out) || v.lagged > 0 {
		t.Errorf("the client got %d bytes of %d, lagged %d", len(v.bytes), len(out), v.lagged)
	}
}

func checkHistory(t *testing.T, term *Terminal, want []byte) {
	t.Helper()
	h, err := term.History()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got := make([]byte, h.Size())
	if _, err := h.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the log has %d bytes of %d", len(got), len(want))
	}
}

// printed is how much the program got rid of.
func (p *fakePty) printed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.acked) + len(p.bytes)
}
