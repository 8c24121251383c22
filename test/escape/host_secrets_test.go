package escape

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func hostSecrets() attack {
	return attack{
		Class: idsClass, Name: "host-secrets",
		Attack: "read files of the host's system that not everybody may read: /etc/shadow, keys, and a sample of /usr and /opt",
		Proves: "the image host holds what every user of the host may read, and no more",
		Host: func(t *testing.T, b *box) {
			b.env["COOP_TARGET"] = strings.Join(hostSecretFiles(), "\n")
		},
		Run: func() error {
			var a attempts
			for _, p := range strings.Split(os.Getenv("COOP_TARGET"), "\n") {
				a.try(p, reveal(p))
			}
			return a.result()
		},
		Control: func() error {
			if err := os.WriteFile("/usr/local/secret", []byte("x"), 0o600); err != nil {
				return err
			}
			return reveal("/usr/local/secret")
		},
		Denied: errnos(unix.ENOENT, unix.EACCES, unix.ENODATA),
		Fixed:  "allow-list; whiteouts over what is not public (root), the kernel's permissions (user)",
	}
}

// reveal reads a file or lists a directory. For a user the directory itself may be
// there, made anew and empty, so that something can be put into it.
func reveal(path string) error {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return open(path)
	}
	list, err := os.ReadDir(path)
	if err == nil && len(list) == 0 {
		return nothing("%s is empty", path)
	}
	return err
}

// hostSecretFiles finds what is closed to others, below directories one may list.
func hostSecretFiles() []string {
	list := []string{"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/ssl/private", "/root/.bashrc", "/root/.ssh"}
	enough := errors.New("enough")
	for _, tree := range []string{"/usr", "/opt"} {
		found := 0
		_ = filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error { // unreadable parts are what we look for
			if err != nil {
				return nil
			}
			st, err := d.Info()
			closed := err == nil && (st.Mode().IsRegular() && st.Mode().Perm()&0o4 == 0 || st.IsDir() && st.Mode().Perm()&0o5 == 0)
			if !closed || strings.ContainsRune(p, '\n') {
				return nil
			}
			list = append(list, p)
			if found++; found == 20 {
				return enough
			}
			return nil
		})
	}
	return list
}
