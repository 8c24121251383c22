package initbin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenGivesASealedProgram(t *testing.T) {
	program, embedded, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	from := "/proc/self/exe" // after a plain go build we are it ourselves
	if embedded {
		from = filepath.Join("embed", "coop-init")
	}
	want, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := program.Stat(); err != nil || got.Size() != want.Size() {
		t.Errorf("%d bytes of %d, %v", got.Size(), want.Size(), err)
	}
	if _, err := program.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("it can be written: %v", err)
	}
}
