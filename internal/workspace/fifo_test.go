package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFifoDoesNotHang: a fifo in the place of the directory must be refused, not
// waited for. On a start it is opened with the sandbox locked.
func TestFifoDoesNotHang(t *testing.T) {
	dir, home := place(t)
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := Open(fifo, home); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a fifo is a workspace")
		}
	case <-time.After(2 * time.Second):
		t.Error("it waits for a writer")
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // let it go
		if err == nil {
			w.Close()
		}
		<-done
	}
}
