package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func TestOrdinaryLayer(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	when := time.Unix(1234567890, 5000)
	long := strings.Repeat("d/", 60) + strings.Repeat("n", 255)
	tool := file("usr/bin/tool", "#!/bin/sh\n")
	tool.Mode, tool.ModTime = 0o4755, when
	tool.Format = tar.FormatPAX
	etc := dir("etc/")
	etc.Mode, etc.ModTime = 0o1777, when
	etc.Format = tar.FormatPAX
	r := p.must(
		t, dir("./"), etc, file("etc/passwd", "root:x:0:0::/root:/bin/sh\n"), tool, symlink("bin", "usr/bin"),
		hardlink("usr/bin/again", "usr/bin/tool"), file(long, "deep"), file("/absolute", "inside"),
		entry{tar.Header{Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o620}, ""},
		entry{tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8}, ""},
	)
	for name, want := range map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "usr/bin/again": "#!/bin/sh\n", long: "deep", "absolute": "inside",
	} {
		if got := p.read(t, name); got != want {
			t.Errorf("%.40s: %q", name, got)
		}
	}
	st := p.stat(t, "usr/bin/tool")
	if st.Mode != unix.S_IFREG|0o4755 || st.Mtim.Sec != when.Unix() || st.Nlink != 2 {
		t.Errorf("tool: %o, %d, %d links", st.Mode, st.Mtim.Sec, st.Nlink)
	}
	if st := p.stat(t, "etc"); st.Mode != unix.S_IFDIR|0o1777 || st.Mtim.Sec != when.Unix() {
		t.Errorf("a directory's mode or time did not survive its content: %o %d", st.Mode, st.Mtim.Sec)
	}
	if to, err := os.Readlink(filepath.Join(p.dir, "bin")); err != nil || to != "usr/bin" {
		t.Errorf("link: %q, %v", to, err)
	}
	if st := p.stat(t, "pipe"); st.Mode != unix.S_IFIFO|0o620 {
		t.Errorf("pipe: %o", st.Mode)
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "dev/sda")); r.Devices != 1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device was made: %d, %v", r.Devices, err)
	}
}

func TestOwners(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	mine, theirs := file("mine", ""), file("theirs", "")
	mine.Uid, mine.Gid = 1000, 100
	theirs.Uid = 1000620000
	home := dir("home")
	home.Uid, home.Gid = 7, 8
	link := symlink("link", "x")
	link.Uid = 9
	r := p.must(t, mine, theirs, home, link)
	want := map[string][2]uint32{"mine": {1000, 100}, "theirs": {nobody, nobody}, "home": {7, 8}, "link": {9, 0}}
	for name, ids := range want {
		if inside() {
			ids = [2]uint32{0, 0}
		}
		if st := p.stat(t, name); st.Uid != ids[0] || st.Gid != ids[1] {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	if inside() {
		if got := p.attr("mine", ownerAttr) + p.attr("home", ownerAttr); got != "1000:1007:8" {
			t.Errorf("noted owners %q", got)
		}
	} else if r.Nobody != 1 {
		t.Errorf("%d owners without an id", r.Nobody)
	}
}

// TestOwnersWithOneID is TestOwners where root would not show it.
func TestOwnersWithOneID(t *testing.T) {
	if again(t) {
		return
	}
	TestOwners(t)
	TestWhiteouts(t)
}

func TestWhiteouts(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	p.must(
		t,
		file("a/.wh.gone", ""),
		file("b/.wh..wh..opq", ""), file("b/new", "new"),
		dir("c"), file("c/x", "x"), file(".wh.c", ""), // removed and made anew, in either order
		file(".wh.d", ""), dir("d"), file("d/y", "y"),
		file(".wh.e", ""), file("e", "a file again"),
		file(".wh.f", ""), file("f/deep/z", "z"),
		file(".wh..wh.plnk", ""), file(".wh..wh.aufs", ""),
		file(".wh..wh..opq", ""),
	)
	if !p.isWhiteout(t, "a/gone") {
		t.Error("no whiteout")
	}
	for name, want := range map[string]string{"a": "", "b": "y", "c": "y", "d": "y", "f": "y", "f/deep": "", ".": "y"} {
		if got := p.attr(name, opaqueName()); got != want {
			t.Errorf("%s: opaque %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"b/new": "new", "c/x": "x", "d/y": "y", "e": "a file again", "f/deep/z": "z"} {
		if got := p.read(t, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if names, err := filepath.Glob(filepath.Join(p.dir, ".wh*")); err != nil || len(names) > 0 {
		t.Errorf("marks of the archive stayed: %v", names)
	}
}

func TestLaterEntriesReplace(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	p.must(
		t,
		dir("d"), file("d/x", "x"), file("d", "now a file"),
		file("f", "f"), dir("f"), file("f/y", "y"),
		symlink("s", "/etc"), dir("s"), file("s/passwd", "inside"),
		file("t", "one"), file("t", "two"),
		file("u", "old"), hardlink("v", "u"), file("u", "new"), // v keeps what it was linked to
	)
	for name, want := range map[string]string{"d": "now a file", "f/y": "y", "s/passwd": "inside", "t": "two", "u": "new", "v": "old"} {
		if got := p.read(t, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	capability := "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	f := file("ping", "ELF")
	f.PAXRecords = map[string]string{
		paxAttr + "user.note": "kept", paxAttr + "security.capability": capability,
		paxAttr + "trusted.overlay.redirect": "/etc", paxAttr + "user.overlay.redirect": "/etc",
		paxAttr + "trusted.overlay.metacopy": "x", paxAttr + "user.overlay.overlay.opaque": "y",
		paxAttr + "user.coop.owner": "0:0", paxAttr + "security.selinux": "x", paxAttr + "system.posix_acl_access": "x",
		paxAttr + "trusted.any": "x",
	}
	d := dir("dir")
	d.PAXRecords = map[string]string{paxAttr + "user.overlay.opaque": "y", paxAttr + "trusted.overlay.opaque": "y", paxAttr + "user.note": "kept"}
	p.must(t, f, d)
	if p.attr("ping", "user.note") != "kept" || p.attr("dir", "user.note") != "kept" {
		t.Error("a harmless attribute is lost")
	}
	if got := p.attr("ping", "security.capability"); got == "" {
		t.Error("the file capability is lost")
	}
	for _, name := range []string{"ping", "dir"} {
		buf := make([]byte, 4096)
		n, err := unix.Llistxattr(filepath.Join(p.dir, name), buf)
		if err != nil {
			t.Fatal(err)
		}
		if list := string(buf[:n]); strings.Contains(list, "overlay") || strings.Contains(list, "coop") || strings.Contains(list, "trusted") {
			t.Errorf("%s has %q", name, list)
		}
	}
}

func TestCompression(t *testing.T) {
	if !ready(t) {
		return
	}
	plain := archive(t, file("f", strings.Repeat("content ", 100_000)), file("g", ""))
	plain = append(plain, make([]byte, 10_000)...) // archives are padded, and the digest covers it
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write(plain[:5000]) // a Buffer does not fail
	_ = w.Close()
	w.Reset(&gz) // a second member, as parallel compressors write
	_, _ = w.Write(plain[5000:])
	_ = w.Close()
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write(plain)
	_ = z.Close()
	sum := sha256.Sum256(plain)
	for name, blob := range map[string][]byte{"plain": plain, "gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		p := makePlace(t)
		r, err := p.unpack(t, blob)
		if err != nil || r.DiffID != hex.EncodeToString(sum[:]) || r.Entries != 2 || r.Bytes != 800_000 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if len(p.read(t, "f")) != 800_000 {
			t.Errorf("%s: content is lost", name)
		}
	}
}

func TestSparse(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	content := make([]byte, 8<<20)
	copy(content[5<<20:], "data")
	tail := append(bytes.Repeat([]byte("x"), 10_000), make([]byte, 100_000)...)
	p.must(t, file("sparse", string(content)), file("tail", string(tail)), file("zeros", string(make([]byte, 12345))))
	if p.read(t, "sparse") != string(content) || p.read(t, "tail") != string(tail) || p.read(t, "zeros") != string(make([]byte, 12345)) {
		t.Error("content differs")
	}
	if st := p.stat(t, "sparse"); st.Blocks*512 > 1<<20 {
		t.Errorf("%d bytes on disk", st.Blocks*512)
	}
}

func TestCancel(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	blob := archive(t, file("f", "x"))
	if _, err := Layer(ctx, p.dir, bytes.NewReader(blob), int64(len(blob)), options()); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("%v", err)
	}
}
