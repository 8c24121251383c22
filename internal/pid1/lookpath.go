package pid1

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/fence"
)

// lookPath finds the program as a shell would: a name with a slash as it is,
// any other in the PATH of its own environment. ENOENT is "not found", EACCES
// "found but not executable".
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", fail("exec", name, unix.ENOENT)
	}
	if strings.Contains(name, "/") {
		file := name
		if !path.IsAbs(file) {
			file = path.Join(dir, file)
		}
		return file, fail("exec", name, executable(file))
	}
	worst := unix.ENOENT
	for _, d := range strings.Split(envValue(env, "PATH"), ":") {
		if d == "" {
			d = dir
		}
		file := path.Join(d, name)
		switch executable(file) {
		case nil:
			return file, nil
		case unix.EACCES:
			worst = unix.EACCES
		}
	}
	return "", fail("exec", name, worst)
}

// executable checks for a regular file somebody may execute. The kernel has the
// last word when the program starts as its user.
func executable(file string) error {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0 {
		return unix.EACCES
	}
	return nil
}

func envValue(env []string, key string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// withHome adds what every program expects to know of its user.
func withHome(env []string, home, name string) []string {
	for _, kv := range [][2]string{{"HOME", home}, {"USER", name}, {"LOGNAME", name}} {
		if envValue(env, kv[0]) == "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	return env
}

// enterDir changes to a working directory; this thread shares its own with
// nobody, and the program inherits it. Magic links are refused: a path such as
// /proc/self/fd/N would lead through our own descriptors (CVE-2024-21626).
func (in *Init) enterDir(dir string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if fence.Gone(in.without, fence.MagicLinks) {
		how.Resolve = 0
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
	if err != nil {
		return fail("chdir", dir, err)
	}
	defer unix.Close(fd)
	return fail("chdir", dir, unix.Fchdir(fd))
}
