package pid1

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// mountTarget opens the place a mount goes to, making what is missing. It walks
// one name at a time and follows no link: an image or an upper layer from
// before may hold any, and a mount must not be led elsewhere (CVE-2025-31133).
func mountTarget(root int, target string, dir bool) (int, error) {
	return makeTarget(root, target, dir, func(int, string) {})
}

// makeTarget also tells of everything it had to make.
func makeTarget(root int, target string, dir bool, made func(at int, name string)) (int, error) {
	names := strings.Split(strings.Trim(path.Clean("/"+target), "/"), "/")
	at, err := unix.Openat(root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for i, name := range names {
		last := i == len(names)-1
		next, err := descendMaking(at, name, dir || !last, made)
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// descend opens one name beneath at, making a directory or an empty file.
func descend(at int, name string, dir bool) (int, error) {
	return descendMaking(at, name, dir, func(int, string) {})
}

func descendMaking(at int, name string, dir bool, made func(at int, name string)) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(at, name, &how)
	if err != unix.ENOENT {
		return fd, err
	}
	err = create(at, name, dir)
	if err != nil && err != unix.EEXIST {
		return -1, err
	}
	if err == nil {
		made(at, name)
	}
	return unix.Openat2(at, name, &how)
}

func create(at int, name string, dir bool) error {
	if dir {
		return unix.Mkdirat(at, name, 0o755)
	}
	fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
