package within

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const acl = "system.posix_acl_access"

// CopyXattrs gives to the attributes a person may have put on from: user.* and
// the access list. What overlayfs keeps in user.overlay.* means nothing here and
// would mean something in the next overlay; file capabilities are not content.
func CopyXattrs(from, to *os.File) error {
	names, err := listXattrs(from)
	if err != nil || len(names) == 0 {
		return err
	}
	for _, name := range names {
		if name != acl && (!strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "user.overlay.")) {
			continue
		}
		value, err := getXattr(from, name)
		if err != nil {
			return err
		}
		if err := unix.Fsetxattr(int(to.Fd()), name, value, 0); err != nil {
			return failed("setxattr "+name, to.Name(), err)
		}
	}
	return nil
}

// HasXattr reports whether an open file has an attribute.
func HasXattr(f *os.File, name string) bool {
	n, err := unix.Fgetxattr(int(f.Fd()), name, nil)
	return err == nil && n > 0
}

func listXattrs(f *os.File) ([]string, error) {
	buf := make([]byte, 1024)
	for {
		n, err := unix.Flistxattr(int(f.Fd()), buf)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP):
			return nil, nil
		case errors.Is(err, unix.ERANGE) && len(buf) < 1<<16: // XATTR_LIST_MAX
			buf = make([]byte, 1<<16)
			continue
		case err != nil:
			return nil, failed("listxattr", f.Name(), err)
		case n == 0:
			return nil, nil
		}
		return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00"), nil
	}
}

func getXattr(f *os.File, name string) ([]byte, error) {
	buf := make([]byte, 1<<16) // XATTR_SIZE_MAX
	n, err := unix.Fgetxattr(int(f.Fd()), name, buf)
	if err != nil {
		return nil, failed("getxattr "+name, f.Name(), err)
	}
	return buf[:n], nil
}
