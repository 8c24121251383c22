package fakedaemon

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// images registers the endpoints of images. Fetching one answers with Events and
// then with an image of that name; nothing is kept.
func (d *Daemon) images(mux *http.ServeMux) {
	some := api.Image{
		Digest: "sha256:0123456789abcdef", References: []string{"docker.io/library/debian:12"}, Platform: "linux/amd64",
		SizeBytes: 3 << 20, DiskBytes: 10 << 20, Layers: []api.ImageLayer{{DiffID: "sha256:1"}}, Sandboxes: []string{"box"},
	}
	removed := api.ImagesRemoved{References: []string{"docker.io/library/debian:12"}, Images: []string{some.Digest}, Bytes: 10 << 20}
	mux.HandleFunc("GET /api/v1/images", answer(api.List[api.Image]{Items: []api.Image{some}, Total: 1}))
	mux.HandleFunc("GET /api/v1/images/inspect", answer(some))
	mux.HandleFunc("DELETE /api/v1/images", answer(removed))
	mux.HandleFunc("POST /api/v1/images/prune", answer(removed))
	fetch := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // an upload is not kept either
		e := json.NewEncoder(w)
		ended := false
		for _, event := range d.Events {
			_ = e.Encode(event) // a test that hangs up knows
			ended = ended || event.Error != nil
		}
		if !ended && !d.CutEvents {
			_ = e.Encode(api.ImageEvent{Image: &some})
		}
	}
	mux.HandleFunc("POST /api/v1/images/pull", fetch)
	mux.HandleFunc("POST /api/v1/images/import", fetch)
	mux.HandleFunc("PUT /api/v1/images/archive", fetch)
}
