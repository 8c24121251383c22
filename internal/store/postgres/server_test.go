package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// server is a PostgreSQL of this test's own: a directory, a socket in it, no
// TCP port.
type server struct {
	dir, bin string
	as       *syscall.Credential // the server refuses to run as root
}

var shared *server //nolint:gochecknoglobals // one server for all tests: starting one takes seconds

func TestMain(m *testing.M) {
	s, err := startServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		if os.Getenv("CI") != "" {
			os.Exit(1)
		}
		os.Exit(0) // said above; only CI insists
	}
	shared = s
	code := m.Run()
	s.remove()
	os.Exit(code)
}

func startServer() (*server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no server installed (apt install postgresql)")
	}
	s := &server{bin: filepath.Dir(found[len(found)-1])}
	if s.dir, err = os.MkdirTemp("/tmp", "coop-pg"); err != nil { // short: a socket's path has 107 bytes
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := s.asNobody(); err != nil {
			return nil, err
		}
	}
	if err := s.run("initdb", "-D", s.data(), "-U", "coop", "-A", "trust", "--no-sync", "-E", "UTF8"); err != nil {
		s.remove()
		return nil, err
	}
	if err := s.start(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// asNobody picks an ordinary user to be.
func (s *server) asNobody() error {
	u, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid) // numbers on Unix
	gid, _ := strconv.Atoi(u.Gid)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, uid, gid)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) start() error {
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off -c max_connections=300", s.dir)
	return s.run("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-l", filepath.Join(s.dir, "log"), "-o", options, "start")
}

func (s *server) stop() error {
	return s.run("pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop")
}

func (s *server) remove() {
	_ = s.stop() // it may not run
	os.RemoveAll(s.dir)
}

func (s *server) run(program string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	// A file, not a pipe: the server inherits it and would keep a pipe open.
	out, err := os.Create(filepath.Join(s.dir, program+".out"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name()) // only to say more
		return fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return nil
}

// url is the address of a database of the server.
func (s *server) url() string {
	return "postgres://coop@/postgres?host=" + url.QueryEscape(s.dir)
}
