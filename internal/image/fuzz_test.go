package image

import (
	"errors"
	"strings"
	"testing"
)

// FuzzManifest: whatever a registry says is an error or a plan within bounds.
func FuzzManifest(f *testing.F) {
	digest := "sha256:" + strings.Repeat("a", 64)
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":1,"digest":"`+digest+`"},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":1,"digest":"`+digest+`"}]}`),
		[]byte(`{"os":"linux","rootfs":{"type":"layers","diff_ids":["`+digest+`"]},"config":{"Env":["A=b"]}}`))
	f.Add([]byte(`{"manifests":[{"digest":"`+digest+`","size":3,"platform":{"os":"linux","architecture":"amd64"}}]}`), []byte(`{}`))
	f.Add([]byte(`{"fsLayers":[]}`), []byte(`null`))
	s := New(Options{Home: "/nonexistent"})
	f.Fuzz(func(t *testing.T, manifest, config []byte) {
		p, err := s.narrow(manifest, "text/plain", func(string) ([]byte, string, error) { return nil, "", errors.New("nothing there") })
		if err != nil {
			return
		}
		if len(p.layers) > s.Limits.Layers || !validHex(hexOf(p.config.Digest)) {
			t.Errorf("%+v", p)
		}
		for _, l := range p.layers {
			if !validHex(hexOf(l.Digest)) || l.Size < 0 || l.Size > s.Limits.BlobBytes {
				t.Errorf("%+v", l)
			}
		}
		img, err := s.describe(p, config)
		if err != nil {
			return
		}
		for _, l := range img.Layers {
			if !validHex(hexOf(l.DiffID)) {
				t.Errorf("%+v", l)
			}
		}
		if img.Config.size() > maxConfig {
			t.Errorf("a configuration of %d bytes", img.Config.size())
		}
	})
}
