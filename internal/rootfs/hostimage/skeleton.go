package hostimage

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// makeSkeleton makes the root directory: empty places, the host's top-level
// links, and the copy of /etc.
func makeSkeleton(ctx context.Context, dir string) error {
	places := []struct {
		name string
		mode os.FileMode
	}{
		{".", 0o755},
		{"dev", 0o755},
		{"etc", 0o755},
		{"home", 0o755},
		{"media", 0o755},
		{"mnt", 0o755},
		{"opt", 0o755},
		{"proc", 0o555},
		{"root", 0o700},
		{"run", 0o755},
		{"run/lock", 0o777 | os.ModeSticky},
		{"srv", 0o755},
		{"sys", 0o555},
		{"tmp", 0o777 | os.ModeSticky},
		{"usr", 0o755},
		{"workspace", 0o755},
		{"var", 0o755},
		{"var/cache", 0o755},
		{"var/lib", 0o755},
		{"var/log", 0o755},
		{"var/spool", 0o755},
		{"var/tmp", 0o777 | os.ModeSticky},
	}
	for _, p := range places {
		if err := makeDir(filepath.Join(dir, p.name), p.mode); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(dir, "var/run")); err != nil {
		return err
	}
	for _, t := range sharedTrees() {
		if err := makeDir(filepath.Join(dir, t), 0o755); err != nil {
			return err
		}
	}
	if err := copyLinks(dir); err != nil {
		return err
	}
	return copyEtc(ctx, filepath.Join(dir, "etc"))
}

// makeDir makes one directory with exactly this mode, whatever the umask.
func makeDir(p string, mode os.FileMode) error {
	if err := os.MkdirAll(p, 0o755); err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

// copyLinks repeats links such as /bin → usr/bin.
func copyLinks(dir string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		to, err := os.Readlink("/" + name)
		if err != nil {
			continue // a directory, or not there
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyEtc copies what everybody on the host may read: files with the read bit
// for others, below directories others may enter. Keys, shadow files and
// passwords of services are not among them.
func copyEtc(ctx context.Context, dst string) error {
	err := filepath.WalkDir("/etc", func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return skipUnreadable(d)
		}
		return copyEntry(p, filepath.Join(dst, p[len("/etc"):]), d)
	})
	if err != nil {
		return err
	}
	return copyResolv(filepath.Join(dst, "resolv.conf"))
}

func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// maxEtcFile leaves out what is no configuration.
const maxEtcFile = 16 << 20

func copyEntry(src, dst string, d fs.DirEntry) error {
	st, err := d.Info()
	if err != nil {
		return nil // gone since it was listed
	}
	mode := st.Mode()
	switch {
	case src == "/etc":
		return nil
	case src == "/etc/machine-id", src == "/etc/hostname", src == "/etc/hosts", src == "/etc/resolv.conf":
		return nil // the host's identity; a sandbox has its own
	case mode.IsDir() && mode.Perm()&0o5 != 0o5:
		return fs.SkipDir
	case mode.IsDir():
		return makeDir(dst, mode.Perm())
	case mode&fs.ModeSymlink != 0:
		return copyLink(src, dst)
	case !mode.IsRegular(), mode.Perm()&0o4 == 0, st.Size() > maxEtcFile:
		return nil
	}
	return copyFile(src, dst, mode.Perm())
}

func copyLink(src, dst string) error {
	to, err := os.Readlink(src)
	if err != nil {
		return nil // gone since it was listed
	}
	return os.Symlink(to, dst)
}

func copyFile(src, dst string, perm os.FileMode) error {
	in, err := os.Open(src)
	if err != nil {
		return nil // for others readable but not for us, or gone: not part of the image
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(perm); err != nil {
		return err
	}
	return out.Close()
}

// copyResolv resolves the link most hosts have there into /run.
func copyResolv(dst string) error {
	b, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	if err := os.WriteFile(dst, b, 0o644); err != nil {
		return err
	}
	return os.Chmod(dst, 0o644) // the daemon's umask is narrow
}
