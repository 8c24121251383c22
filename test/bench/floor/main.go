// Command floor is what `make bench` measures sandboxes against: a bare program
// that does only what the kernel needs. It answers one line per request on
// stdin with the nanoseconds it took.
//
//	sandbox   clone the same namespaces, make the same mounts, pivot, execute true
//	exec      fork and execute true on the host
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Args[0] == "floor-child" {
		fmt.Fprintln(os.Stderr, "floor:", child(os.Args[1]))
		os.Exit(1)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		begin := time.Now()
		if err := measure(in.Text()); err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println(time.Since(begin).Nanoseconds())
	}
}

func measure(what string) error {
	if what == "exec" {
		return start("/usr/bin/true", []string{"true"}, nil)
	}
	return start("/proc/self/exe", []string{"floor-child", what}, &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS |
			unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
}

func start(file string, argv []string, sys *syscall.SysProcAttr) error {
	pid, _, err := syscall.StartProcess(file, argv, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: sys})
	if err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		return err
	}
	if ws.ExitStatus() != 0 {
		return fmt.Errorf("exit status %d", ws.ExitStatus())
	}
	return nil
}

// child makes the mounts a sandbox has and becomes true. dir holds skeleton,
// and upper and work directories for two overlays.
func child(dir string) error {
	runtime.LockOSThread()
	root := dir + "/merged"
	steps := []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return overlay(dir+"/skeleton", dir, "root", root) },
		func() error { return overlay("/usr", dir, "usr", root+"/usr") },
		func() error { return overlay("/opt", dir, "opt", root+"/opt") },
		func() error { return overlay(dir+"/project", dir, "workspace", root+"/workspace") },
		func() error { return unix.Mount(dir+"/project", root+"/repo", "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return unix.Mount("proc", root+"/proc", "proc", 0, "") },
		func() error { return unix.Mount("sysfs", root+"/sys", "sysfs", unix.MS_RDONLY, "") },
		func() error { return unix.Mount("tmpfs", root+"/dev", "tmpfs", 0, "mode=755") },
		func() error { return os.Mkdir(root+"/dev/pts", 0o755) },
		func() error { return os.Mkdir(root+"/dev/shm", 0o755) },
		func() error { return os.Mkdir(root+"/dev/mqueue", 0o755) },
		func() error { return unix.Mount("mqueue", root+"/dev/mqueue", "mqueue", 0, "") },
		func() error { return unix.Mount("devpts", root+"/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666") },
		func() error { return unix.Mount("tmpfs", root+"/dev/shm", "tmpfs", 0, "") },
		func() error { return unix.Mount("tmpfs", root+"/tmp", "tmpfs", 0, "") },
		func() error { return devices(root) },
		func() error { return unix.Chdir(root) },
		func() error { return unix.PivotRoot(".", ".") },
		func() error { return unix.Unmount(".", unix.MNT_DETACH) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return unix.Exec("/usr/bin/true", []string{"true"}, nil)
}

func overlay(lower, dir, name, target string) error {
	data := "userxattr,lowerdir=" + lower + ",upperdir=" + dir + "/upper-" + name + ",workdir=" + dir + "/work-" + name
	return unix.Mount("overlay", target, "overlay", 0, data)
}

func devices(root string) error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		f, err := os.Create(root + "/dev/" + name)
		if err != nil {
			return err
		}
		f.Close()
		if err := unix.Mount("/dev/"+name, root+"/dev/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", strconv.Quote(name), err)
		}
	}
	return nil
}
