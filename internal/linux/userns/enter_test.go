package userns

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/linux/idmap"
)

const insideArg0 = "userns-inside"

// TestMain also is the program that enters and the one that runs inside.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case WaitArg0:
		fmt.Fprintln(os.Stderr, "wait:", Wait(os.Args)) // returns only on error
		os.Exit(1)
	case insideArg0:
		os.Exit(inside())
	}
	os.Exit(m.Run())
}

// inside tells what it is and what it was given.
func inside() int {
	link, _ := os.Readlink("/proc/self/fd/4") // where the pipe was by which it waited, or Go's own
	uids, _, err := idmap.Self()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	given, err := io.ReadAll(os.NewFile(3, "given"))
	if err != nil {
		fmt.Println("descriptor 3:", err)
		return 1
	}
	fmt.Printf("%d %d|%v|%s|%s|%v|%s", os.Getuid(), os.Getgid(), uids.Initial(), given, os.Getenv("TOLD"), !strings.HasPrefix(link, "pipe:"), strings.Join(os.Args, " "))
	return 7
}

func TestEnter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	given, give, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	if _, err := give.WriteString("a file"); err != nil {
		t.Fatal(err)
	}
	give.Close()
	pid, single, err := Enter(Child{
		Argv: []string{insideArg0, "one", "two"}, Env: []string{"TOLD=yes", "GORACE=atexit_sleep_ms=0"},
		Files: []*os.File{given}, Log: w,
	})
	if err != nil {
		need(t, err)
	}
	t.Logf("single id: %v", single)
	w.Close()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("%v, status %v", err, ws)
	}
	initial := os.Getuid() == 0 // root maps everything it has
	if want := fmt.Sprintf("0 0|%v|a file|yes|true|userns-inside one two", initial); string(said) != want {
		t.Errorf("inside: %q\nwant    %q", said, want)
	}
}

// need says that the host refuses user namespaces; in CI it must not.
func need(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs user namespaces, which CI must have: %v", err)
	}
	t.Skipf("needs user namespaces: %v", err)
}
