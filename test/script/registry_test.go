package script

import (
	"bytes"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coop-dev/coop/test/images"
)

// registry starts a registry with images of busybox, and puts its address into
// REGISTRY:
//
//	busybox:1   one layer
//	tool:1      the same layer and two more, with a configuration
//
// busybox.tar in the story's directory is what docker save would write.
func registry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: registry")
	}
	base, err := images.Busybox()
	ts.Check(err)
	second, err := images.Layer(
		images.File{Name: "etc/.wh.removed"},
		images.File{Name: "opt/old/"}, images.File{Name: "opt/old/.wh..wh..opq"}, images.File{Name: "opt/old/new", Content: []byte("new\n")},
	)
	ts.Check(err)
	third, err := images.Layer(images.File{Name: "etc/os-release", Content: []byte("NAME=tool\n")}, images.File{Name: "srv/", UID: 1000})
	ts.Check(err)
	plain, err := images.Image(v1.Config{}, base)
	ts.Check(err)
	tool, err := images.Image(v1.Config{
		Env: []string{"PATH=/bin", "TOOL=yes", "COOP_SESSION=forged"}, User: "app", WorkingDir: "/srv",
		Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{"echo $TOOL $COOP_SESSION from $(pwd)"},
	}, base, second, third)
	ts.Check(err)
	r := images.Serve()
	ts.Defer(r.Close)
	for ref, img := range map[string]v1.Image{"busybox:1": plain, "tool:1": tool} {
		_, err := r.Push(ref, img)
		ts.Check(err)
	}
	var b bytes.Buffer
	tag, err := name.NewTag("saved:1")
	ts.Check(err)
	ts.Check(tarball.Write(tag, plain, &b))
	ts.Check(os.WriteFile(ts.MkAbs("busybox.tar"), b.Bytes(), 0o644))
	ts.Setenv("REGISTRY", r.Host)
}
