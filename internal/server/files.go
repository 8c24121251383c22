package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	defaultFileMode = 0o644
	stallTimeout    = time.Minute // for the next bytes of an upload

	// A fifo must not block the open, a terminal not become ours.
	openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
)

// readFile serves the bytes of a regular file, with ranges. Whatever else is
// at the path was put there by the sandbox and is refused.
func (s *Server) readFile(w http.ResponseWriter, r *http.Request) error {
	f, info, err := s.openRegular(r, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if info.Size() == 0 {
		// Files of /proc say 0 and have content all the same.
		_, err := io.CopyN(w, f, s.cfg.MaxFileBytes)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	rw := &rangeWriter{ResponseWriter: w}
	http.ServeContent(rw, r, "", info.ModTime(), f)
	return rw.err
}

// rangeWriter turns http.ServeContent's plain-text refusals into errors.
type rangeWriter struct {
	http.ResponseWriter
	err error
}

func (w *rangeWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	code := sandbox.Invalid // a range or a precondition
	if status >= http.StatusInternalServerError {
		code = sandbox.Internal
	}
	w.err = &statusError{status, sandbox.Errorf(code, "read file: %s", strings.ToLower(http.StatusText(status)))}
}

func (w *rangeWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

func (w *rangeWriter) ReadFrom(src io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, src) }

// writeFile replaces a file's content with the body as it arrives. A body that
// breaks off leaves what came; mode counts only when the file is new.
func (s *Server) writeFile(w http.ResponseWriter, r *http.Request) error {
	mode, err := modeParam(r)
	if err != nil {
		return err
	}
	if r.ContentLength > s.cfg.MaxFileBytes {
		return bodyError(&http.MaxBytesError{Limit: s.cfg.MaxFileBytes})
	}
	f, _, err := s.openRegular(r, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	body := &stallReader{http.MaxBytesReader(w, r.Body, s.cfg.MaxFileBytes), http.NewResponseController(w)}
	err = copyBody(f, body)
	if cerr := f.Close(); err == nil {
		err = diskError(cerr)
	}
	if err != nil {
		return err
	}
	return noContent(w)
}

// copyBody tells a client that broke off from a disk that is full.
func copyBody(f io.Writer, body *stallReader) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if _, werr := f.Write(buf[:n]); werr != nil {
			return diskError(werr)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bodyError(err)
		}
	}
}

func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return sandbox.Errorf(sandbox.Exhausted, "write file: %w", err)
	}
	return err
}

// stallReader gives every read its own deadline: an upload may take as long as
// it moves.
type stallReader struct {
	r    io.Reader
	conn *http.ResponseController
}

func (s *stallReader) Read(p []byte) (int, error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(stallTimeout)) // unsupported only in tests without a connection
	n, err := s.r.Read(p)
	if errors.Is(err, io.EOF) {
		_ = s.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (s *Server) openRegular(r *http.Request, flags int, mode uint32) (*os.File, fs.FileInfo, error) {
	id, err := ref(r)
	if err != nil {
		return nil, nil, err
	}
	path := r.URL.Query().Get("path")
	if err := insidePath("path", path); err != nil {
		return nil, nil, err
	}
	f, err := s.cfg.Engine.OpenFile(r.Context(), id, path, flags|openFlags, mode)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = sandbox.Errorf(sandbox.Invalid, "%.128q is a %s, not a regular file", path, kindOf(info.Mode()))
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

func modeParam(r *http.Request) (uint32, error) {
	q := r.URL.Query()
	if !q.Has("mode") {
		return defaultFileMode, nil
	}
	m, err := strconv.ParseUint(q.Get("mode"), 8, 32)
	if err != nil || m > 0o777 {
		return 0, sandbox.Errorf(sandbox.Invalid, "mode %.32q is not octal permissions up to 0777", q.Get("mode"))
	}
	return uint32(m), nil
}
