package pid1

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestResolveUser(t *testing.T) {
	const nobody = "3999999999" // no host has a name for it
	for user, want := range map[string]struct {
		uid, gid   uint32
		home, name string
	}{
		"root":           {0, 0, "/root", "root"},
		"0":              {0, 0, "/root", "root"},
		"root:7":         {0, 7, "/root", "root"},
		"0:0":            {0, 0, "/root", "root"},
		nobody:           {3999999999, 3999999999, "/home/" + nobody, nobody},
		nobody + ":5":    {3999999999, 5, "/home/" + nobody, nobody},
		"00000000000000": {0, 0, "/root", "root"},
	} {
		cred, home, name, err := resolveUser(user)
		if err != nil {
			t.Errorf("%s: %v", user, err)
			continue
		}
		if cred.Uid != want.uid || cred.Gid != want.gid || home != want.home || name != want.name {
			t.Errorf("%s: %+v, %s, %s", user, cred, home, name)
		}
		if len(cred.Groups) != 0 {
			t.Errorf("%s has groups %v", user, cred.Groups)
		}
	}
}

func TestResolveUserRefuses(t *testing.T) {
	for user, want := range map[string]error{
		"":                      unix.ENOENT,
		"nobody-has-this-name":  unix.ENOENT,
		"4294967295":            unix.ENOENT, // -1: "leave it as it is" to the kernel
		"4294967296":            unix.ENOENT,
		"-1":                    unix.ENOENT,
		"0:":                    unix.EINVAL,
		"0:wheel":               unix.EINVAL,
		"0:4294967295":          unix.EINVAL,
		"root:-1":               unix.EINVAL,
		"0:0:0":                 unix.EINVAL,
		"x:0:0::/root:/bin/sh":  unix.ENOENT,
		"nobody-has\nthis:name": unix.ENOENT,
	} {
		cred, _, _, err := resolveUser(user)
		var step *initproto.Error
		if cred != nil || !errors.Is(err, want) || !errors.As(err, &step) || step.Step != "user" {
			t.Errorf("%q: %+v, %v; want %v", user, cred, err, want)
		}
	}
}

func TestCredential(t *testing.T) {
	for _, groups := range []bool{true, false} {
		in := &Init{groups: groups}
		for _, user := range []string{"root", "0:5", "3999999999"} {
			cred, _, _, err := resolveUser(user)
			if err != nil {
				t.Fatal(err)
			}
			got := in.credential(cred)
			if (got == nil) != (user == "root") {
				t.Errorf("%s: %+v", user, got)
			}
			if got != nil && got.NoSetGroups == groups {
				t.Errorf("%s, groups allowed %v: %+v", user, groups, got)
			}
		}
	}
}

// TestOpenInside: nothing in the place of a file holds PID 1 up or leads it
// astray.
func TestOpenInside(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	in := &Init{}
	for _, c := range []struct {
		open initproto.Open
		want error
	}{
		{initproto.Open{Path: dir + "/file"}, nil},
		{initproto.Open{Path: dir + "/link"}, nil},
		{initproto.Open{Path: dir + "/fifo"}, nil}, // at once
		{initproto.Open{Path: dir + "/fifo", Flags: unix.O_WRONLY}, unix.ENXIO},
		{initproto.Open{Path: dir + "/none"}, unix.ENOENT},
		{initproto.Open{Path: dir + "/file", Mode: 0o777}, nil}, // openat2 would refuse a mode nobody asked for
		{initproto.Open{Path: dir + "/new", Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR, Mode: 0o4755}, nil},
		{initproto.Open{Path: "/proc/self/exe"}, unix.ELOOP},
		{initproto.Open{Path: "/proc/self/fd/0"}, unix.ELOOP},
		{initproto.Open{Path: "/proc/self/root/etc/passwd"}, unix.ELOOP},
	} {
		fd, err := in.open(c.open)
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.open, err, c.want)
		}
		if err == nil {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s survives an exec", c.open.Path)
			}
			unix.Close(fd)
		}
	}
	if st, err := os.Stat(dir + "/new"); err != nil || st.Mode()&os.ModeSetuid != 0 {
		t.Errorf("a setuid file was made: %v, %v", st.Mode(), err)
	}
}
