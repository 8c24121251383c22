package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Images is what the server asks of the image store.
type Images interface {
	List(ctx context.Context) ([]image.Image, error)
	Get(ctx context.Context, ref string) (image.Image, error)
	Pull(ctx context.Context, req image.PullRequest, report func(image.Progress)) (image.Image, error)
	Import(ctx context.Context, req image.ImportRequest, report func(image.Progress)) (image.Image, error)
	Upload(ctx context.Context, archive io.Reader, ref string, report func(image.Progress)) (image.Image, error)
	Remove(ctx context.Context, ref string) (image.Removed, error)
	Prune(ctx context.Context, all bool) (image.Removed, error)
}

// References have slashes, so they are parameters, not parts of paths.
func imageRoutes() []route {
	ref := param{name: "ref", summary: "a reference, a digest or the beginning of one", kind: "string", required: true}
	return []route{
		{
			id: "listImages", method: "GET", path: "/images", summary: "List images, newest first",
			status: http.StatusOK, answer: api.List[api.Image]{}, handle: (*Server).listImages,
		},
		{
			id: "deleteImage", method: "DELETE", path: "/images", summary: "Remove a reference, and the image with its last one",
			query: []param{ref}, status: http.StatusOK, answer: api.ImagesRemoved{}, handle: (*Server).deleteImage,
		},
		{
			id: "inspectImage", method: "GET", path: "/images/inspect", summary: "Show one image with its own configuration",
			query: []param{ref}, status: http.StatusOK, answer: api.Image{}, handle: (*Server).inspectImage,
		},
		{
			id: "pullImage", method: "POST", path: "/images/pull", summary: "Fetch an image; progress comes line by line",
			body: api.PullRequest{}, status: http.StatusOK, answer: lines{api.ImageEvent{}}, handle: (*Server).pullImage,
		},
		{
			id: "importImage", method: "POST", path: "/images/import", summary: "Take over an image from a file or directory of the daemon's machine; progress comes line by line",
			body: api.ImportRequest{}, status: http.StatusOK, answer: lines{api.ImageEvent{}}, handle: (*Server).importImage,
		},
		{
			id: "uploadImage", method: "PUT", path: "/images/archive", summary: "Take over an image from an archive that is the body; progress comes line by line",
			query: []param{{name: "ref", summary: "what it is called; the archive's own name unless given", kind: "string"}},
			body:  octets{}, status: http.StatusOK, answer: lines{api.ImageEvent{}}, handle: (*Server).uploadImage,
		},
		{
			id: "pruneImages", method: "POST", path: "/images/prune", summary: "Remove images without a reference and what interrupted pulls left",
			body: api.ImagePruneRequest{}, optional: true, status: http.StatusOK, answer: api.ImagesRemoved{}, handle: (*Server).pruneImages,
		},
	}
}

// lines stands in the table for an answer of one JSON value a line.
type lines struct{ of any }

func (s *Server) images() (Images, error) {
	if s.cfg.Images == nil {
		return nil, sandbox.Errorf(sandbox.Unsupported, "this daemon keeps no images")
	}
	return s.cfg.Images, nil
}

func (s *Server) listImages(w http.ResponseWriter, r *http.Request) error {
	store, err := s.images()
	if err != nil {
		return err
	}
	list, err := store.List(r.Context())
	if err != nil {
		return err
	}
	items := make([]api.Image, 0, len(list))
	for _, img := range list {
		items = append(items, imageOf(img, false))
	}
	return writeJSON(w, http.StatusOK, api.List[api.Image]{Items: items, Total: len(items)})
}

func (s *Server) inspectImage(w http.ResponseWriter, r *http.Request) error {
	store, err := s.images()
	if err != nil {
		return err
	}
	img, err := store.Get(r.Context(), r.URL.Query().Get("ref"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, imageOf(img, true))
}

func (s *Server) deleteImage(w http.ResponseWriter, r *http.Request) error {
	store, err := s.images()
	if err != nil {
		return err
	}
	out, err := store.Remove(r.Context(), r.URL.Query().Get("ref"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, removedOf(out))
}

func (s *Server) pruneImages(w http.ResponseWriter, r *http.Request) error {
	var req api.ImagePruneRequest
	if err := decodeOptional(w, r, &req); err != nil {
		return err
	}
	store, err := s.images()
	if err != nil {
		return err
	}
	out, err := store.Prune(r.Context(), req.All)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, removedOf(out))
}

func (s *Server) pullImage(w http.ResponseWriter, r *http.Request) error {
	var req api.PullRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	return s.streamImage(w, r, func(ctx context.Context, store Images, report func(image.Progress)) (image.Image, error) {
		return store.Pull(ctx, image.PullRequest{Reference: req.Reference, PlainHTTP: req.PlainHTTP}, report)
	})
}

func (s *Server) importImage(w http.ResponseWriter, r *http.Request) error {
	var req api.ImportRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	return s.streamImage(w, r, func(ctx context.Context, store Images, report func(image.Progress)) (image.Image, error) {
		return store.Import(ctx, image.ImportRequest{Source: req.Source, Reference: req.Reference}, report)
	})
}

func (s *Server) uploadImage(w http.ResponseWriter, r *http.Request) error {
	body := &uploadBody{stallReader: stallReader{r.Body, http.NewResponseController(w)}}
	return s.streamImage(w, r, func(ctx context.Context, store Images, report func(image.Progress)) (image.Image, error) {
		img, err := store.Upload(ctx, body, r.URL.Query().Get("ref"), report)
		if body.err != nil {
			err = bodyError(body.err)
		}
		return img, err
	})
}

// uploadBody remembers that the client broke off, which is not the disk's fault.
type uploadBody struct {
	stallReader
	err error
}

func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.stallReader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

type fetchImage func(context.Context, Images, func(image.Progress)) (image.Image, error)

// streamImage answers line by line; what is here when it breaks off is kept.
func (s *Server) streamImage(w http.ResponseWriter, r *http.Request, fetch fetchImage) error {
	store, err := s.images()
	if err != nil {
		return err
	}
	return s.streamLines(w, r, func(ctx context.Context, out *eventLines) (any, error) {
		img, err := fetch(ctx, store, (&imageLines{out: out}).progress)
		shown := imageOf(img, false)
		return api.ImageEvent{Image: &shown}, err
	}, func(e *api.Error) any { return api.ImageEvent{Error: e} })
}

// imageLines spares the client what it cannot show anyway.
type imageLines struct {
	out  *eventLines
	last map[string]time.Time // of the numbers of each layer
}

// often is how often numbers of one layer are worth a line.
const often = 100 * time.Millisecond

func (l *imageLines) progress(p image.Progress) {
	if p.Status == image.Resolving {
		return // nothing to show, and an error can still have a status of its own
	}
	if p.Status == image.Downloading {
		if now := time.Now(); p.Done < p.Total && now.Sub(l.last[p.Layer]) < often {
			return
		} else if l.last == nil {
			l.last = map[string]time.Time{p.Layer: now}
		} else {
			l.last[p.Layer] = now
		}
	}
	l.out.write(api.ImageEvent{Layer: p.Layer, Status: string(p.Status), Done: p.Done, Total: p.Total})
}

func imageOf(img image.Image, raw bool) api.Image {
	c := img.Config
	out := api.Image{
		Digest: img.Digest, References: nonNil(img.References), Platform: img.Platform, MediaType: img.MediaType,
		CreatedAt: img.Created, FetchedAt: img.Fetched, DiskBytes: img.DiskBytes, Sandboxes: nonNil(img.UsedBy), Notes: img.Notes,
		Config: api.ImageConfig{Env: c.Env, User: c.User, WorkingDir: c.WorkingDir, Entrypoint: c.Entrypoint, Cmd: c.Cmd, Labels: c.Labels},
		Layers: make([]api.ImageLayer, 0, len(img.Layers)),
	}
	for _, l := range img.Layers {
		out.SizeBytes += l.Size
		out.Layers = append(out.Layers, api.ImageLayer{DiffID: l.DiffID, Digest: l.Digest, SizeBytes: l.Size})
	}
	if b := img.Base; b != nil {
		out.Role, out.Base = "base", &api.ImageBase{Image: b.Image, Parent: b.Parent, Steps: b.Steps}
	}
	if raw {
		out.Raw = img.Raw
	}
	return out
}

func removedOf(r image.Removed) api.ImagesRemoved {
	return api.ImagesRemoved{References: nonNil(r.References), Images: nonNil(r.Images), Bytes: r.Bytes}
}

// nonNil makes an empty list [] in JSON.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
