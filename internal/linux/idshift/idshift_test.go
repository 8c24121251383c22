package idshift

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const testBase = 0x70000000

func TestDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: files of other owners")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, nil, 0o644))
	must(t, os.Mkdir(at("sub"), 0o755))
	must(t, os.WriteFile(at("sub/file"), []byte("x"), 0o644))
	must(t, os.Link(at("sub/file"), at("again")))
	must(t, os.WriteFile(at("setuid"), nil, 0o755))
	must(t, os.Symlink(outside, at("link")))
	must(t, unix.Mknod(at("whiteout"), unix.S_IFCHR, 0))
	must(t, os.WriteFile(at("ours"), nil, 0o644))
	for name, id := range map[string]int{".": 0, "sub": 5, "sub/file": 1000, "setuid": 0, "link": 7, "whiteout": 0} {
		must(t, os.Lchown(at(name), testBase+id, testBase+id))
	}
	must(t, unix.Lchown(at("ours"), 3, 4))
	must(t, unix.Chmod(at("setuid"), 0o6755))
	must(t, unix.Chmod(at("sub"), 0o2755))
	caps := make([]byte, 24)
	binary.LittleEndian.PutUint32(caps, 0x03000001)
	binary.LittleEndian.PutUint32(caps[4:], 1<<10)
	binary.LittleEndian.PutUint32(caps[20:], testBase)
	must(t, unix.Lsetxattr(at("sub/file"), capability, caps, 0))

	must(t, Down(context.Background(), dir, testBase, 65536))

	for name, want := range map[string][3]uint32{
		".": {0, 0, 0}, "sub": {5, 5, 0o2755}, "sub/file": {1000, 1000, 0}, "again": {1000, 1000, 0},
		"setuid": {0, 0, 0o6755}, "link": {7, 7, 0}, "whiteout": {0, 0, 0}, "ours": {3, 4, 0},
	} {
		var st unix.Stat_t
		must(t, unix.Lstat(at(name), &st))
		if st.Uid != want[0] || st.Gid != want[1] || want[2] != 0 && st.Mode&0o7777 != want[2] {
			t.Errorf("%s: %d:%d %o", name, st.Uid, st.Gid, st.Mode)
		}
	}
	var st unix.Stat_t
	must(t, unix.Stat(outside, &st))
	if st.Uid != 0 {
		t.Error("a link was followed")
	}
	got, err := get(at("again"), capability)
	if err != nil || len(got) != 20 || binary.LittleEndian.Uint32(got) != 0x02000001 || binary.LittleEndian.Uint32(got[4:]) != 1<<10 {
		t.Errorf("capabilities %x, %v", got, err)
	}
}

func TestACL(t *testing.T) {
	s := shifter{base: 100, count: 50}
	in := []byte{2, 0, 0, 0}
	for _, e := range [][2]uint32{{0x01, 0xffffffff}, {0x02, 110}, {0x08, 149}, {0x02, 150}, {0x04, 0xffffffff}} {
		in = binary.LittleEndian.AppendUint32(in, e[0]|7<<16)
		in = binary.LittleEndian.AppendUint32(in, e[1])
	}
	out := s.acl(in)
	want := bytes.Clone(in)
	binary.LittleEndian.PutUint32(want[4+8+4:], 10)
	binary.LittleEndian.PutUint32(want[4+16+4:], 49)
	if !bytes.Equal(out, want) {
		t.Errorf("%x, want %x", out, want)
	}
	if got := s.acl([]byte{1, 2}); len(got) != 2 {
		t.Errorf("%x", got)
	}
}

func TestTooDeep(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH, 0)
	must(t, err)
	for range maxDepth + 1 {
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_PATH, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	if err := Down(context.Background(), dir, testBase, 65536); !errors.Is(err, ErrDepth) {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
