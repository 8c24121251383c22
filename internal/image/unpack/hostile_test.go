package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/sandbox"
)

// TestHostileLayers: each is refused, and whatever was made before stays inside.
func TestHostileLayers(t *testing.T) {
	if !ready(t) {
		return
	}
	for name, entries := range map[string][]entry{
		"dotdot":                        {file("../outside/sentinel", "x")},
		"dotdot in the middle":          {file("a/../../outside/sentinel", "x")},
		"dotdot at the end":             {dir("a"), dir("a/..")},
		"dotdot hard link":              {hardlink("l", "../outside/sentinel")},
		"hard link through a link":      {symlink("up", "../outside"), hardlink("l", "up/sentinel")},
		"hard link to nothing":          {hardlink("l", "nothing")},
		"hard link to the root":         {hardlink("l", "/")},
		"hard link to a directory":      {dir("d"), hardlink("l", "d")},
		"hard link to a whiteout":       {file(".wh.x", ""), hardlink("l", "x")},
		"through a dangling link":       {symlink("up", "../outside"), file("up/new/file", "x")},
		"through a link loop":           {symlink("a", "b"), symlink("b", "a"), file("a/x", "x")},
		"through a file":                {file("f", ""), file("f/x", "x")},
		"whiteout through a link":       {symlink("up", "/../outside"), file("up/.wh.sentinel", "")},
		"opaque through a link":         {symlink("up", "../outside"), file("up/.wh..wh..opq", "")},
		"whiteout of nothing":           {file(".wh.", "")},
		"whiteout of the parent":        {file("a/.wh...", "")},
		"whiteout of itself":            {file("a/.wh..", "")},
		"a name that is too long":       {file(strings.Repeat("n", 256), "")},
		"a path that is too long":       {file(strings.Repeat("d/", 2100)+"f", "")},
		"a root that is a file":         {file("./", "x")},
		"a root that is a link":         {symlink("/", "/etc")},
		"a link without a target":       {{tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "x\x00y", PAXRecords: map[string]string{"linkpath": ""}}, ""}},
		"an unknown kind":               {{tar.Header{Name: "x", Typeflag: 'Z'}, ""}},
		"more attributes than anybody":  {manyAttributes()},
		"a whiteout below a whiteout's": {file("f", ""), file("f/.wh.x", "")},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlace(t)
			blob := tryArchive(entries)
			if blob == nil {
				t.Skip("the archive's own format does not allow it")
			}
			_, err := p.unpack(t, blob)
			if code := sandbox.CodeOf(err); err == nil || (code != sandbox.Invalid && code != sandbox.TooLarge) {
				t.Errorf("%v, %s", err, code)
			}
			p.unchanged(t)
		})
	}
}

// tryArchive is archive for entries the writer may refuse.
func tryArchive(entries []entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := e.Header
		if len(h.PAXRecords) > 0 {
			h.Format = tar.FormatPAX
		}
		if w.WriteHeader(&h) != nil {
			return nil
		}
		_, _ = io.WriteString(w, e.content) // a Buffer does not fail
	}
	_ = w.Close()
	return b.Bytes()
}

func manyAttributes() entry {
	f := file("f", "")
	f.PAXRecords = map[string]string{}
	for i := range maxAttrs + 1 {
		f.PAXRecords[fmt.Sprintf("%suser.a%d", paxAttr, i)] = "x"
	}
	return f
}

// TestLargeAttributes: what no file system keeps is left out, not an error.
func TestLargeAttributes(t *testing.T) {
	if !ready(t) {
		return
	}
	f := file("f", "x")
	f.PAXRecords = map[string]string{
		paxAttr + "user.large": strings.Repeat("x", 100_000), paxAttr + "user.full": strings.Repeat("x", 60_000),
		paxAttr + "user." + strings.Repeat("n", 300): "x", paxAttr + "user.small": "kept",
	}
	p := makePlace(t)
	r := p.must(t, f)
	if p.attr("f", "user.small") != "kept" || r.Attrs < 2 {
		t.Errorf("%+v", r)
	}
}

// TestMemory: what has to be remembered of a layer is bounded.
func TestMemory(t *testing.T) {
	u := &unpacker{memory: maxMemory - 100}
	if err := u.remember("short"); err != nil {
		t.Error(err)
	}
	if err := u.remember("one more"); sandbox.CodeOf(err) != sandbox.TooLarge {
		t.Error(err)
	}
}

// TestConfinedLayers: links that look like ways out lead nowhere but inside.
func TestConfinedLayers(t *testing.T) {
	if !ready(t) {
		return
	}
	for name, entries := range map[string][]entry{
		"absolute link":       {dir("etc"), symlink("l", "/etc"), file("l/sentinel", "mine")},
		"chained links":       {dir("etc"), symlink("a", "/etc"), symlink("b", "a"), symlink("c", "./b"), file("c/sentinel", "mine")},
		"link over the top":   {dir("etc"), symlink("l", "../../../../../../etc"), file("l/sentinel", "mine")},
		"link as a file":      {symlink("etc/sentinel", "../../outside/sentinel"), file("etc/sentinel", "mine")},
		"link as a directory": {symlink("etc", "../outside"), dir("etc"), file("etc/sentinel", "mine")},
		"hard link to a link": {symlink("x", "../outside/sentinel"), hardlink("y", "x"), file("y", "not through it"), file("etc/sentinel", "mine")},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlace(t)
			p.must(t, entries...)
			if got := p.read(t, "etc/sentinel"); got != "mine" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestForgedDevices: whiteouts come from the archive's marks only.
func TestForgedDevices(t *testing.T) {
	if !ready(t) {
		return
	}
	p := makePlace(t)
	var list []entry
	for i, d := range [][2]int64{{0, 0}, {1, 3}, {8, 0}} {
		list = append(list, entry{tar.Header{Name: fmt.Sprintf("c%d", i), Typeflag: tar.TypeChar, Devmajor: d[0], Devminor: d[1], Mode: 0o666}, ""})
	}
	if r := p.must(t, list...); r.Devices != 3 {
		t.Errorf("%d devices", r.Devices)
	}
	noDevices(t, p.dir)
}

func noDevices(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeDevice != 0 {
			t.Errorf("device %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBombs(t *testing.T) {
	if !ready(t) {
		return
	}
	small := options()
	small.Limits = Limits{Bytes: 64 << 20, Ratio: 10, Floor: 1 << 20, Entries: 100}
	zeros := func(n int64) []byte {
		var b bytes.Buffer
		gz := gzip.NewWriter(&b)
		w := tar.NewWriter(gz)
		_ = w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: n, Mode: 0o644})
		_, _ = io.CopyN(w, zeroReader{}, n)
		_, _ = w.Close(), gz.Close()
		return b.Bytes()
	}
	var many []entry
	for i := range 101 {
		many = append(many, dir(fmt.Sprint(i)))
	}
	for name, blob := range map[string][]byte{
		"expands too much": zeros(8 << 20),
		"too large":        zeros(65 << 20),
		"too many entries": archive(t, many...),
		"sparse petabyte":  sparse(t, 1<<50),
		"after the end":    append(archive(t, file("f", "")), make([]byte, 2<<20)...),
		"absurd size":      archiveClaiming(t, 1<<62),
	} {
		p := makePlace(t)
		_, err := Layer(t.Context(), p.dir, bytes.NewReader(blob), int64(min(len(blob), 1<<16)), small)
		if sandbox.CodeOf(err) != sandbox.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(p.dir, "zeros"), &st) == nil && st.Blocks*512 > 16<<20 {
			t.Errorf("%s: %d bytes were written", name, st.Blocks*512)
		}
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// sparse is a GNU sparse file (PAX 1.0) of a size with no data at all.
func sparse(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	table := fmt.Sprintf("1\n%d\n0\n", size)
	table += strings.Repeat("\x00", 512-len(table))
	record := func(k, v string) string {
		s := fmt.Sprintf(" %s=%s\n", k, v)
		n := len(s) + 2
		for len(fmt.Sprint(n))+len(s) != n {
			n++
		}
		return fmt.Sprint(n) + s
	}
	pax := record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "zeros") + record("GNU.sparse.realsize", fmt.Sprint(size))
	raw := func(name string, kind byte, body string) {
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], "0000644\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x00", len(body)))
		copy(h[136:], "00000000000\x00        ")
		h[156] = kind
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h)
		b.WriteString(body)
		b.Write(make([]byte, (512-len(body)%512)%512))
	}
	raw("pax", 'x', pax)
	raw("GNUSparseFile.0/zeros", '0', table)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// archiveClaiming has a header that promises more than there is.
func archiveClaiming(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "f", Typeflag: tar.TypeReg, Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDamage: a layer that is cut off anywhere, or noise, is an error or has
// another digest, and never a crash.
func TestDamage(t *testing.T) {
	if !ready(t) {
		return
	}
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write(archive(t, dir("d"), file("d/f", strings.Repeat("x", 3000)), symlink("l", "d")))
	_ = w.Close()
	whole, err := makePlace(t).unpack(t, gz.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < gz.Len(); cut += 7 {
		r, err := makePlace(t).unpack(t, gz.Bytes()[:cut])
		if err == nil && r.DiffID == whole.DiffID {
			t.Errorf("cut after %d bytes it is the same layer", cut)
		}
	}
	for _, noise := range []string{"", "x", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff", "BZh91AY", strings.Repeat("noise", 1000)} {
		if r, err := makePlace(t).unpack(t, []byte(noise)); err == nil && r.Entries > 0 {
			t.Errorf("%.20q: %+v", noise, r)
		}
	}
}
