// Package pgserver runs a PostgreSQL server for a test: a directory, a socket in
// it, no TCP port.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrMissing says that no server is installed.
var ErrMissing = errors.New("no PostgreSQL server installed (apt install postgresql)")

// Server is one that belongs to whoever started it.
type Server struct {
	dir, bin string
	as       *syscall.Credential // the server refuses to run as root
}

// New makes and starts one.
func New() (*Server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return nil, ErrMissing
	}
	s := &Server{bin: filepath.Dir(found[len(found)-1])}
	if s.dir, err = os.MkdirTemp("/tmp", "coop-pg"); err != nil { // short: a socket's path has 107 bytes
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := s.asNobody(); err != nil {
			return nil, err
		}
	}
	if err := s.run("initdb", "-D", s.data(), "-U", "coop", "-A", "trust", "--no-sync", "-E", "UTF8"); err != nil {
		s.Remove()
		return nil, err
	}
	if err := s.Start(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// asNobody picks an ordinary user to be.
func (s *Server) asNobody() error {
	u, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid) // numbers on Unix
	gid, _ := strconv.Atoi(u.Gid)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, uid, gid)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Start starts it again after Stop.
func (s *Server) Start() error {
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off -c max_connections=300", s.dir)
	return s.run("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-l", filepath.Join(s.dir, "log"), "-o", options, "start")
}

// Stop ends it at once, as a crash would.
func (s *Server) Stop() error {
	return s.run("pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop")
}

// Remove ends it and removes all it had.
func (s *Server) Remove() {
	_ = s.Stop() // it may not run
	os.RemoveAll(s.dir)
}

func (s *Server) run(program string, args ...string) error {
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

// URL is the address of a database of the server.
func (s *Server) URL() string {
	return "postgres://coop@/postgres?host=" + url.QueryEscape(s.dir)
}
