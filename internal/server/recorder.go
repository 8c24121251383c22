package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// recorder remembers the status that was sent; 0 means nothing was.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// ReadFrom keeps sendfile(2) possible for file contents.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return io.Copy(r.ResponseWriter, src)
}

// Hijack notes that the connection has left HTTP.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = http.StatusSwitchingProtocols
	}
	return c, rw, err
}

// Unwrap lets http.ResponseController reach deadlines and Flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
