package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// floor is the running floor program.
type floor struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	dir string
}

// startFloor builds it small and static, like coop-init, and keeps it running.
func startFloor(dir string) (*floor, error) {
	bin := filepath.Join(dir, "floor")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./test/bench/floor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build floor: %w\n%s", err, out)
	}
	root := filepath.Join(dir, "floorfs")
	if err := makeFloorRoot(root); err != nil {
		return nil, err
	}
	f := &floor{cmd: exec.Command(bin), dir: root}
	f.cmd.Stderr = os.Stderr
	var err error
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.out = bufio.NewReader(out)
	return f, f.cmd.Start()
}

func makeFloorRoot(root string) error {
	for _, d := range []string{
		"skeleton/usr", "skeleton/proc", "skeleton/sys", "skeleton/dev", "skeleton/tmp",
		"skeleton/opt", "skeleton/workspace", "skeleton/repo", "project", "merged",
	} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	for _, l := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+l, filepath.Join(root, "skeleton", l)); err != nil {
			return err
		}
	}
	return nil
}

// sample takes one of each. Fresh upper directories are part of a cold create.
func (f *floor) sample(t *table) error {
	begin := time.Now()
	for _, d := range writable() {
		if err := os.Mkdir(filepath.Join(f.dir, d), 0o755); err != nil {
			return err
		}
	}
	prepared := time.Since(begin)
	d, err := f.ask(f.dir)
	if err != nil {
		return err
	}
	t.add(floorSandbox, prepared+d)
	for _, d := range writable() {
		if err := os.RemoveAll(filepath.Join(f.dir, d)); err != nil {
			return err
		}
	}
	if d, err = f.ask("exec"); err != nil {
		return err
	}
	t.add(floorExec, d)
	return nil
}

func (f *floor) ask(what string) (time.Duration, error) {
	if _, err := fmt.Fprintln(f.in, what); err != nil {
		return 0, err
	}
	line, err := f.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("floor: %s", line)
	}
	return time.Duration(ns), nil
}

func (f *floor) stop() {
	_ = f.in.Close() // it ends at end of input
	_ = f.cmd.Wait() // its status tells nothing
}

// writable are the directories each of the overlays needs.
func writable() []string {
	var dirs []string
	for _, name := range []string{"root", "usr", "opt", "workspace"} {
		dirs = append(dirs, "upper-"+name, "work-"+name)
	}
	return dirs
}
