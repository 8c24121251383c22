package server

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func filesPath(path string) string {
	return "/api/v1/sandboxes/box/files?path=" + url.QueryEscape(path)
}

func TestReadFile(t *testing.T) {
	h := newHarness(t)
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, []byte("<html>0123456789"), 0o600))
	a := h.do("GET", filesPath(name), "").want(http.StatusOK)
	if string(a.body) != "<html>0123456789" || a.Header.Get("Content-Type") != "application/octet-stream" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %v", a.body, a.Header)
	}
	if a := h.do("GET", filesPath(name), "", "Range", "bytes=6-8").want(http.StatusPartialContent); string(a.body) != "012" {
		t.Errorf("%s", a.body)
	}
	a = h.do("GET", filesPath(name), "", "Range", "bytes=100-")
	a.wantError(http.StatusRequestedRangeNotSatisfiable, "invalid", "range")
	h.do("GET", filesPath(name), "", "Range", "bytes=x").wantError(http.StatusRequestedRangeNotSatisfiable, "invalid")
	if a := h.do("HEAD", filesPath(name), "").want(http.StatusOK); a.ContentLength != 16 {
		t.Errorf("%d", a.ContentLength)
	}
	if a := h.do("GET", filesPath("/proc/self/status"), "").want(http.StatusOK); !strings.Contains(string(a.body), "Pid:") {
		t.Errorf("%q", a.body)
	}
}

func TestFilesRefuseWhatIsNotRegular(t *testing.T) {
	h := newHarness(t)
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	h.do("GET", filesPath(dir), "").wantError(400, "invalid", "directory")
	h.do("GET", filesPath(fifo), "").wantError(400, "invalid", "fifo")
	h.do("GET", filesPath("/dev/zero"), "").wantError(400, "invalid", "device")
	h.do("PUT", filesPath("/dev/null"), "x").wantError(400, "invalid", "device")
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	defer r.Close()
	h.do("PUT", filesPath(fifo), "x").wantError(400, "invalid", "fifo")
	h.do("GET", filesPath(filepath.Join(dir, "none")), "").wantError(404, "not_found")
}

func TestFilesRefuseBadParameters(t *testing.T) {
	h := newHarness(t)
	for query, part := range map[string]string{
		"": "path", "path=": "path", "path=rel": "path", "path=/a%00b": "path", "path=/" + strings.Repeat("x", 4096): "path",
		"path=/a&path=/b": "twice", "path=/a&mdoe=1": "mode",
	} {
		h.do("PUT", "/api/v1/sandboxes/box/files?"+query, "x").wantError(400, "invalid", part)
	}
	for _, mode := range []string{"", "8", "4755", "-1", "rw"} {
		h.do("PUT", filesPath("/tmp/x")+"&mode="+mode, "x").wantError(400, "invalid", "mode")
	}
	if h.engine.count() != 0 {
		t.Errorf("reached the engine: %v", h.engine.calls)
	}
}

func TestWriteFile(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxFileBytes = 1 << 20 })
	name := filepath.Join(t.TempDir(), "f")
	h.do("PUT", filesPath(name)+"&mode=600", strings.Repeat("long ", 1000)).want(http.StatusNoContent)
	h.do("PUT", filesPath(name), "short", "Content-Type", "text/plain").want(http.StatusNoContent)
	b, err := os.ReadFile(name)
	must(t, err)
	info, err := os.Stat(name)
	must(t, err)
	if string(b) != "short" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q %v", b, info.Mode())
	}
	h.do("PUT", filesPath(name), "").want(http.StatusNoContent)
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("%v %v", info, err)
	}
}

func TestWriteFileTooLarge(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxFileBytes = 1 << 20 })
	name := filepath.Join(t.TempDir(), "f")
	h.do("PUT", filesPath(name), strings.Repeat("x", 1<<20)).want(http.StatusNoContent)
	h.do("PUT", filesPath(name), strings.Repeat("x", 1<<20+1)).wantError(413, "too_large")
	if info, err := os.Stat(name); err != nil || info.Size() != 1<<20 {
		t.Errorf("a refused upload changed the file: %v %v", info, err)
	}
}

func TestWriteFileDiskFull(t *testing.T) {
	if err := diskError(&os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}); wireError(err).Code != "exhausted" {
		t.Error(err)
	}
}
