package client_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// socket would be ~/.coop/daemon.sock; here a fake daemon answers, whose
// commands turn their input to capitals.
func socket() (path string, stop func()) {
	t := &exampleT{}
	d := fakedaemon.New(t)
	d.Command = func(s *fakedaemon.Session) {
		in, _ := s.Await("closeStdin")
		s.Stdout([]byte(strings.ToUpper(string(in))))
		s.Exit(0)
	}
	d.Listen(t)
	return d.Socket, t.finish
}

// exampleT stands in for a test, which an Example has not.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()           {}
func (t *exampleT) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (t *exampleT) Cleanup(f func())  { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) finish() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func Example() {
	path, stop := socket()
	defer stop()
	ctx := context.Background()

	c, err := client.New(client.Options{Socket: path})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	sandbox, err := c.Create(ctx, api.CreateRequest{Name: "demo", ScopePath: "/home/me/project"})
	if err != nil {
		panic(err)
	}
	stream, err := c.Attach(ctx, sandbox.ID, api.ExecRequest{Command: "tr", Args: &[]string{"a-z", "A-Z"}, Interactive: true})
	if err != nil {
		panic(err)
	}
	result, _, err := stream.Run(ctx, strings.NewReader("hello\n"), os.Stdout, os.Stderr, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("exit", result.ExitCode)
	// Output:
	// HELLO
	// exit 0
}
