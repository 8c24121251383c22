package rootfs

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []string{"sh", "ls", "no-such-program"}, map[string]string{"/opt/passwd": "/etc/passwd"}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seen[h.Name] {
			t.Errorf("%s twice", h.Name)
		}
		seen[h.Name] = true
	}
	for _, name := range []string{"bin/sh", "bin/ls", "etc/passwd", "opt/", "opt/passwd"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
