package image

import (
	"net"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/coop-dev/coop/internal/sandbox"
)

const maxReference = 512

// Reference is how people call an image: a registry's name for it, or a local
// archive or directory it was imported from ("oci:DIR", "tar:FILE").
type Reference struct {
	text   string
	remote name.Reference // nil for a local one
}

// ParseReference reads a reference. Short names are Docker's:
// "debian" is docker.io/library/debian:latest.
func ParseReference(s string) (Reference, error) {
	if s == "" || len(s) > maxReference || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Reference{}, badReference(s)
	}
	if local(s) {
		return Reference{text: s}, nil
	}
	r, err := name.ParseReference(s)
	if err != nil || s == sandbox.DefaultImage || s[0] == '-' || odd(r) {
		return Reference{}, badReference(s)
	}
	return Reference{text: canonical(r), remote: r}, nil
}

func badReference(s string) error {
	return sandbox.Errorf(sandbox.Invalid, "%.128q is not the name of an image", s).
		WithHint("such as debian:12, ghcr.io/me/tool:1.0 or debian@sha256:…")
}

// odd finds parts that would mean something else in the path of a URL.
func odd(r name.Reference) bool {
	for part := range strings.SplitSeq(r.Context().Name(), "/") {
		if part == "" || part == "." || part == ".." {
			return true
		}
	}
	return false
}

// local reports whether an image comes from a file here.
func local(s string) bool {
	return (strings.HasPrefix(s, "oci:") || strings.HasPrefix(s, "tar:")) && strings.HasPrefix(s[4:], "/")
}

// canonical is the whole name, with the registry's name as people write it.
func canonical(r name.Reference) string {
	s := r.Name()
	if rest, ok := strings.CutPrefix(s, name.DefaultRegistry+"/"); ok {
		return "docker.io/" + rest
	}
	return s
}

// String is the canonical form; two ways to write one image have one.
func (r Reference) String() string { return r.text }

// Names are the ways to write a reference, for patterns that name images.
func Names(s string) []string {
	r, err := ParseReference(s)
	if err != nil {
		return []string{s}
	}
	list := []string{s, r.text}
	if rest, ok := strings.CutPrefix(r.text, "docker.io/"); ok {
		list = append(list, rest, strings.TrimPrefix(rest, "library/"))
	}
	return list
}

// loopback reports whether a host, perhaps with a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
