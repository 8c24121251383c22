package image

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxPasswd bounds what is read of an image's /etc/passwd.
const maxPasswd = 1 << 20

// LookupUser finds the ids of a user's name in an image.
func (s *Store) LookupUser(img Image, name string) (uid, gid uint32, ok bool) {
	for _, layer := range s.LayerNames(img) {
		text, found := readPasswd(filepath.Join(s.LayerDir(), layer))
		if !found {
			continue
		}
		for line := range strings.Lines(text) {
			f := strings.Split(line, ":")
			if len(f) < 4 || f[0] != name {
				continue
			}
			u, err1 := strconv.ParseUint(f[2], 10, 16)
			g, err2 := strconv.ParseUint(f[3], 10, 16)
			return uint32(u), uint32(g), err1 == nil && err2 == nil
		}
		break // the topmost file is the one that is seen
	}
	return 0, 0, false
}

// readPasswd reads the file of one layer, if it has an ordinary one. Links in a
// layer lead nowhere outside of it.
func readPasswd(layer string) (string, bool) {
	root, err := os.OpenRoot(layer)
	if err != nil {
		return "", false
	}
	defer root.Close()
	f, err := regular(root, "etc/passwd")
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxPasswd)) // what could be read is what counts
	return string(b), true
}
