// Command registry serves one small image over HTTP on this machine, for the
// demo: it prints the image's reference and serves until its input ends.
//
//	go run ./test/registry
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/coop-dev/coop/test/rootfs"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))} //nolint:gosec // for this machine and a minute
	go func() { _ = srv.Serve(ln) }()                                                       // until Close
	defer srv.Close()
	ref, err := push(ln.Addr().String())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, ref); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// push makes the image and puts it into the registry.
func push(host string) (name.Reference, error) {
	ref, err := name.ParseReference(host + "/demo/tools:1")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := rootfs.Write(&b, rootfs.Tools(), nil); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env = []string{"GREETING=hello from an image"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return ref, remote.Write(ref, img)
}
