package hostimage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
)

// layoutVersion is part of every key: raise it when what is prepared changes.
const layoutVersion = 2

// key names the state of the host. /etc is small and looked at entry by entry.
// Of the big trees only the upper directories and the package databases are:
// what a stale shadow misses is a directory that cannot be written to, or for
// real root a non-public file that appeared since in a deep directory.
func (c *Cache) key() string {
	h := sha256.New()
	fmt.Fprintln(h, layoutVersion, c.root, os.Getuid())
	_ = filepath.WalkDir("/etc", func(p string, d fs.DirEntry, err error) error { // unreadable parts are not copied either
		if err == nil {
			note(h, p)
		}
		return nil
	})
	for _, t := range sharedTrees() {
		noteUpper(h, t, 2)
	}
	for _, p := range []string{"/", "/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed", "/var/lib/pacman/local", "/run/systemd/resolve/resolv.conf"} {
		note(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// noteUpper notes the directories down to a depth: making or removing an entry
// changes its directory's time.
func noteUpper(h hash.Hash, dir string, depth int) {
	note(h, dir)
	if depth == 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			noteUpper(h, filepath.Join(dir, e.Name()), depth-1)
		}
	}
}

func note(h hash.Hash, p string) {
	if st, err := os.Lstat(p); err == nil {
		fmt.Fprintln(h, p, st.Mode(), st.Size(), st.ModTime().UnixNano())
	}
}
