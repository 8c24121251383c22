package pid1

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/internal/initproto"
)

// lookPath finds the program as a shell would: a name with a slash as it is,
// any other in the PATH of its own environment. ENOENT is "not found", EACCES
// "found but not executable".
func lookPath(name, dir string, env []string) (string, error) {
	files := initproto.ProgramFiles(name, dir, env)
	if strings.Contains(name, "/") {
		return files[0], fail("exec", name, executable(files[0]))
	}
	worst := unix.ENOENT
	for _, file := range files {
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
