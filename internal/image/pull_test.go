package image

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestPull(t *testing.T) {
	s, h := newStore(t), newHub(t)
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	third := tarOf(t, "etc/release", "three")
	sum, _, err := v1.SHA256(bytes.NewReader(third))
	if err != nil {
		t.Fatal(err)
	}
	config := v1.Config{Env: []string{"A=b"}, User: "app", WorkingDir: "/srv", Entrypoint: []string{"/bin/tool"}, Cmd: []string{"-v"}, Labels: map[string]string{"k": "v"}}
	img := imageWith(t, config,
		layerOf(t, "etc/", "", "etc/release", "one", "etc/keep", "kept"),
		static.NewLayer(tarOf(t, "bin/tool", "tool"), types.DockerUncompressedLayer),
		layerWith{static.NewLayer(zw.EncodeAll(third, nil), types.OCILayerZStd), sum},
	)
	ref := h.push("team/tool:1", img)
	var seen []Status
	got, err := s.Pull(t.Context(), PullRequest{Reference: ref}, func(p Progress) { seen = append(seen, p.Status) })
	if err != nil {
		t.Fatal(err)
	}
	want, _ := img.Digest()
	if got.Digest != want.String() || !slices.Equal(got.References, []string{ref}) || len(got.Layers) != 3 {
		t.Errorf("%+v", got)
	}
	c := got.Config
	if fmt.Sprintf("%v %v %v %v %v", c.Env, c.User, c.WorkingDir, c.Command(), c.Labels) != "[A=b] app /srv [/bin/tool -v] map[k:v]" {
		t.Errorf("%+v", c)
	}
	for name, text := range map[string]string{"etc/release": "three", "etc/keep": "kept", "bin/tool": "tool"} {
		if s.read(got, name) != text {
			t.Errorf("%s: %q", name, s.read(got, name))
		}
	}
	for _, st := range []Status{Resolving, Waiting, Downloading, Unpacking, Done} {
		if !slices.Contains(seen, st) {
			t.Errorf("no %s among %v", st, seen)
		}
	}
	s.clean(t, 0)
	// A new daemon finds it, and pulling again fetches nothing.
	s = openStore(t, s.Home)
	h.setSpoil(nil)
	if again := s.mustPull(t, ref); again.Digest != got.Digest || again.DiskBytes == 0 {
		t.Errorf("%+v", again)
	}
	for _, l := range got.Layers {
		if h.asked(l.Digest) != 0 {
			t.Errorf("layer %s was fetched again", l.Digest)
		}
	}
}

func TestPullByDigestAndPlatform(t *testing.T) {
	s, h := newStore(t), newHub(t)
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	mine, theirs := imageWith(t, v1.Config{}, layerOf(t, "f", "mine")), imageWith(t, v1.Config{}, layerOf(t, "f", "theirs"))
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: other}}},
		mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
		mutate.IndexAddendum{Add: mine, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}},
	)
	r, err := name.ParseReference(h.host + "/multi:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(r, idx); err != nil {
		t.Fatal(err)
	}
	got := s.mustPull(t, h.host+"/multi:1")
	want, _ := mine.Digest()
	if got.Digest != want.String() || s.read(got, "f") != "mine" {
		t.Errorf("%+v", got)
	}
	d, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if again := s.mustPull(t, h.host+"/multi@"+d.String()); again.Digest != want.String() || len(again.References) != 2 {
		t.Errorf("%+v", again)
	}
	for _, ref := range []string{got.Digest, got.Digest[7:19], h.host + "/multi:1", h.host + "/elsewhere@" + got.Digest} {
		if found, err := s.Get(t.Context(), ref); err != nil || found.Digest != got.Digest {
			t.Errorf("%s: %v", ref, err)
		}
	}
	only := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: other}}},
		mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "windows", Architecture: other}}})
	r, _ = name.ParseReference(h.host + "/foreign:1")
	if err := remote.WriteIndex(r, only); err != nil {
		t.Fatal(err)
	}
	wantCode(t, pullErr(t.Context(), s, h.host+"/foreign:1"), sandbox.Unsupported)
	wantCode(t, pullErr(t.Context(), s, h.host+"/nothing:1"), sandbox.NotFound)
}

func random(t testing.TB, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// isBlob reports whether a request is for this layer.
func isBlob(r *http.Request, l v1.Layer) bool {
	d, _ := l.Digest()
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/blobs/"+d.String())
}

// TestDroppingRegistry hangs up in the middle of every answer, and once does not
// know how to continue. The pull comes through with ranges.
func TestDroppingRegistry(t *testing.T) {
	s, h := newStore(t), newHub(t)
	l := layerOf(t, "big", random(t, 1<<20))
	rc, _ := l.Compressed()
	blob, _ := io.ReadAll(rc)
	ref := h.push("drop:1", imageWith(t, v1.Config{}, l))
	var n atomic.Int32
	h.setSpoil(func(w http.ResponseWriter, r *http.Request) bool {
		if !isBlob(r, l) {
			return false
		}
		from := 0
		if rng := r.Header.Get("Range"); rng != "" && n.Load() != 2 {
			_, _ = fmt.Sscanf(rng, "bytes=%d-", &from) // 0 when it is none
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(blob)-1, len(blob)))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(blob)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		n.Add(1)
		_, _ = w.Write(blob[from:min(from+300_000, len(blob))])
		if from+300_000 < len(blob) {
			panic(http.ErrAbortHandler)
		}
		return true
	})
	got := s.mustPull(t, ref)
	if len(s.read(got, "big")) != 1<<20 || h.asked("bytes=") < 3 {
		t.Errorf("%d requests with ranges", h.asked("bytes="))
	}
	s.clean(t, 0)
}

// TestInterrupted: a pull that is cancelled, and its daemon killed, continues
// where it was.
func TestInterrupted(t *testing.T) {
	s, h := newStore(t), newHub(t)
	first, l := layerOf(t, "small", "small"), layerOf(t, "big", random(t, 1<<20))
	rc, _ := l.Compressed()
	blob, _ := io.ReadAll(rc)
	ref := h.push("stop:1", imageWith(t, v1.Config{}, first, l))
	stopped := errors.New("stopped by the test")
	ctx, cancel := contextWithCause(t)
	release := make(chan struct{})
	h.setSpoil(func(w http.ResponseWriter, r *http.Request) bool {
		if !isBlob(r, l) {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(blob)))
		_, _ = w.Write(blob[:700_000])
		_ = http.NewResponseController(w).Flush()
		<-release
		return true
	})
	var big, small atomic.Bool
	var once sync.Once
	digest, _ := l.Digest()
	_, err := s.Pull(ctx, PullRequest{Reference: ref}, func(p Progress) {
		if p.Layer == digest.String() && p.Done >= 700_000 {
			big.Store(true)
		}
		if p.Layer != digest.String() && p.Status == Done {
			small.Store(true)
		}
		if big.Load() && small.Load() {
			once.Do(func() { cancel(stopped) })
		}
	})
	close(release)
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	s.clean(t, 1)
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("half an image is listed: %v, %v", list, err)
	}
	s = openStore(t, s.Home)
	fd, _ := first.Digest()
	h.setSpoil(nil)
	s.mustPull(t, ref)
	if h.asked(digest.String(), "bytes=700000-") != 1 || h.asked(digest.String()) != 1 || h.asked(fd.String()) != 0 {
		t.Errorf("it began anew: %v", h.requests)
	}
	s.clean(t, 0)
}

// TestLyingRegistries: whatever does not fit its digest is refused, and nothing
// of it stays.
func TestLyingRegistries(t *testing.T) {
	l := layerOf(t, "f", random(t, 5000))
	rc, _ := l.Compressed()
	blob, _ := io.ReadAll(rc)
	wrong := bytes.Clone(blob)
	wrong[len(wrong)/2] ^= 1
	answer := func(b []byte) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !isBlob(r, l) {
				return false
			}
			_, _ = w.Write(b)
			return true
		}
	}
	for name, c := range map[string]struct {
		spoil func(http.ResponseWriter, *http.Request) bool
		code  sandbox.Code
	}{
		"corrupted": {answer(wrong), sandbox.Invalid},
		"longer":    {answer(append(bytes.Clone(blob), 'x')), sandbox.Invalid},
		"endless": {func(w http.ResponseWriter, r *http.Request) bool {
			if !isBlob(r, l) {
				return false
			}
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return true
				}
			}
		}, sandbox.Invalid},
		"another config": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/blobs/") || isBlob(r, l) {
				return false
			}
			_, _ = io.WriteString(w, `{"os":"linux","architecture":"`+runtime.GOARCH+`"}`)
			return true
		}, sandbox.Invalid},
		"huge manifest": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
			_, _ = w.Write(bytes.Repeat([]byte(" "), 5<<20))
			return true
		}, sandbox.TooLarge},
		"gone":   {status(l, http.StatusGone), sandbox.Unavailable},
		"secret": {status(l, http.StatusForbidden), sandbox.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := newStore(t), newHub(t)
			ref := h.push("lie:1", imageWith(t, v1.Config{}, l))
			h.setSpoil(c.spoil)
			wantCode(t, pullErr(t.Context(), s, ref), c.code)
			if names, err := os.ReadDir(s.LayerDir()); err != nil || len(names) > 0 {
				t.Errorf("layers were kept: %v, %v", names, err)
			}
			if list, err := s.List(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("listed: %v, %v", list, err)
			}
			// The next pull is not spoiled by this one.
			h.setSpoil(nil)
			s.mustPull(t, ref)
			s.clean(t, 0)
		})
	}
}

func status(l v1.Layer, code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !isBlob(r, l) {
			return false
		}
		w.WriteHeader(code)
		return true
	}
}

func TestStalledRegistry(t *testing.T) {
	s, h := newStore(t), newHub(t)
	s.Transport.Stall = 200 * time.Millisecond
	l := layerOf(t, "f", random(t, 50_000))
	ref := h.push("stall:1", imageWith(t, v1.Config{}, l))
	var n atomic.Int32
	h.setSpoil(func(w http.ResponseWriter, r *http.Request) bool {
		if !isBlob(r, l) || n.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Length", "50000")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // says nothing until the client gives up
		return true
	})
	s.mustPull(t, ref)
	if n.Load() < 2 {
		t.Error("it was not asked again")
	}
}

func TestHostileImages(t *testing.T) {
	hash := func(c byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: strings.Repeat(string(c), 64)} }
	l := layerOf(t, "f", "x")
	many := make([]v1.Layer, 501)
	for i := range many {
		many[i] = layerWith{static.NewLayer(gzipped(t, tarOf(t, "f", fmt.Sprint(i))), types.DockerLayer), hash('a')}
	}
	var env []string
	for i := range 2000 {
		env = append(env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 1000)))
	}
	bomb := static.NewLayer(gzipped(t, tarOf(t, "zeros", strings.Repeat("\x00", 8<<20))), types.DockerLayer)
	for name, c := range map[string]struct {
		img  v1.Image
		code sandbox.Code
	}{
		"wrong diffID":     {imageWith(t, v1.Config{}, layerWith{l, hash('b')}), sandbox.Invalid},
		"too many layers":  {imageWith(t, v1.Config{}, many...), sandbox.TooLarge},
		"huge environment": {imageWith(t, v1.Config{Env: env}, l), sandbox.TooLarge},
		"bomb":             {imageWith(t, v1.Config{}, bomb), sandbox.TooLarge},
		"escape":           {imageWith(t, v1.Config{}, layerOf(t, "../../escaped", "x")), sandbox.Invalid},
		"no archive":       {imageWith(t, v1.Config{}, static.NewLayer([]byte(strings.Repeat("noise", 999)), types.DockerLayer)), sandbox.Invalid},
		"foreign layer":    {imageWith(t, v1.Config{}, fixed(t, static.NewLayer(gzipped(t, tarOf(t, "f", "x")), types.DockerForeignLayer))), sandbox.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := newStore(t), newHub(t)
			s.Limits.Layer.Floor, s.Limits.Layer.Ratio = 1<<20, 10
			if name == "too many layers" { // pushing all takes long, and nobody reads them
				raw, err := c.img.RawManifest()
				if err != nil {
					t.Fatal(err)
				}
				h.setSpoil(manifest(raw))
				wantCode(t, pullErr(t.Context(), s, h.host+"/x:1"), c.code)
				return
			}
			wantCode(t, pullErr(t.Context(), s, h.push("x:1", c.img)), c.code)
			s.clean(t, 0)
			if names, err := filepath.Glob(filepath.Join(s.LayerDir(), "*")); err != nil || len(names) > 0 {
				t.Errorf("kept %v", names)
			}
			if _, err := os.Lstat(filepath.Join(s.Home, "layers", "escaped")); err == nil {
				t.Error("escaped")
			}
		})
	}
}

// manifest answers every question for a manifest with the same bytes.
func manifest(raw []byte) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/manifests/") {
			return false
		}
		w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
		_, _ = w.Write(raw)
		return true
	}
}

func TestStrangeManifests(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	self := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":100,"digest":"` + digest + `"}]}`
	layer := func(size int64, d string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":10,"digest":%q},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":%d,"digest":%q}]}`, digest, size, d)
	}
	for name, c := range map[string]struct {
		raw  string
		code sandbox.Code
	}{
		"noise":          {"noise", sandbox.Unsupported},
		"empty":          {"{}", sandbox.Unsupported},
		"schema 1":       {`{"schemaVersion":1,"fsLayers":[]}`, sandbox.Unsupported},
		"index of lies":  {self, sandbox.Invalid},
		"artifact":       {`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","size":1,"digest":"` + digest + `"},"layers":[]}`, sandbox.Unsupported},
		"absurd size":    {layer(1<<60, digest), sandbox.TooLarge},
		"negative size":  {layer(-1, digest), sandbox.TooLarge},
		"sha512":         {layer(1, "sha512:"+strings.Repeat("a", 128)), sandbox.Unsupported},
		"digest as path": {layer(1, "sha256:../../../../etc/passwd"), sandbox.Invalid},
	} {
		s, h := newStore(t), newHub(t)
		h.setSpoil(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, c.raw)
			return true
		})
		err := pullErr(t.Context(), s, h.host+"/x:1")
		if sandbox.CodeOf(err) != c.code {
			t.Errorf("%s: %v (%s)", name, err, sandbox.CodeOf(err))
		}
	}
}

// TestCredentials: a token service, basic credentials from Docker's file, and
// none of them to where a redirect leads.
func TestCredentials(t *testing.T) {
	s, h := newStore(t), newHub(t)
	l := layerOf(t, "f", "x")
	ref := h.push("private:1", imageWith(t, v1.Config{}, l))
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Authorization") != "")
		rc, _ := l.Compressed()
		_, _ = io.Copy(w, rc)
	}))
	defer elsewhere.Close()
	var realm string
	h.setSpoil(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token":
			if user != "me" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"token": "pass"})
		case r.Header.Get("Authorization") != "Bearer pass":
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case isBlob(r, l):
			http.Redirect(w, r, elsewhere.URL+"/blob", http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	})
	realm = "http://" + h.host + "/token"
	wantCode(t, pullErr(t.Context(), s, ref), sandbox.Denied)
	docker := filepath.Join(s.Home, "docker")
	if err := os.Mkdir(docker, 0o700); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`{"auths":{%q:{"username":"me","password":"secret"}}}`, h.host)
	if err := os.WriteFile(filepath.Join(docker, "config.json"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if img := s.mustPull(t, ref); s.read(img, "f") != "x" || leaked.Load() {
		t.Errorf("credentials went to another server: %v", leaked.Load())
	}
}

// TestPlainHTTP: without TLS only this machine, unless it was asked for, whoever
// leads there.
func TestPlainHTTP(t *testing.T) {
	s := newStore(t)
	var dialled []string
	s.Transport.Base = roundTrip(func(r *http.Request) (*http.Response, error) {
		dialled = append(dialled, r.URL.Scheme+"://"+r.URL.Host)
		return nil, errors.New("nobody there")
	})
	for _, host := range []string{"registry.test", "10.1.2.3:5000", "192.168.0.1", "box.local:80", "[fe80::1]:5000"} {
		dialled = nil
		if err := pullErr(t.Context(), s, host+"/x:1"); err == nil {
			t.Errorf("%s: no error", host)
		}
		for _, d := range dialled {
			if !strings.HasPrefix(d, "https://") {
				t.Errorf("%s was reached by %s", host, d)
			}
		}
	}
	dialled = nil
	_, err := s.Pull(t.Context(), PullRequest{Reference: "10.1.2.3:5000/x:1", PlainHTTP: true}, func(Progress) {})
	if err == nil || !slices.Contains(dialled, "http://10.1.2.3:5000") {
		t.Errorf("asked for, but %v, %v", dialled, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRedirects(t *testing.T) {
	request := func(url string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"https://a.test", "https://cdn.test", true},
		{"https://a.test", "https://127.0.0.1:8080", false},
		{"https://a.test", "https://localhost", false},
		{"https://a.test", "https://[::1]", false},
		{"https://a.test", "http://169.254.169.254/latest", false},
		{"https://a.test", "https://0.0.0.0", false},
		{"http://127.0.0.1:5000", "http://127.0.0.1:6000", true},
	} {
		if err := follow(request(c.to), []*http.Request{request(c.from)}); (err == nil) != c.ok {
			t.Errorf("%s → %s: %v", c.from, c.to, err)
		}
	}
}

// TestTwoPulls of images that share a layer fetch and keep it once.
func TestTwoPulls(t *testing.T) {
	s, h := newStore(t), newHub(t)
	shared := layerOf(t, "shared", random(t, 200_000))
	refs := []string{
		h.push("one:1", imageWith(t, v1.Config{}, shared, layerOf(t, "one", "1"))),
		h.push("two:1", imageWith(t, v1.Config{}, shared, layerOf(t, "two", "2"))),
	}
	h.setSpoil(nil)
	var wg sync.WaitGroup
	for _, ref := range append(refs, refs...) {
		wg.Go(func() {
			if err := pullErr(t.Context(), s, ref); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, _ := shared.Digest()
	if n := h.asked("GET", "/blobs/"+d.String()); n != 1 {
		t.Errorf("the shared layer was fetched %d times", n)
	}
	if names, err := filepath.Glob(filepath.Join(s.LayerDir(), "*.json")); err != nil || len(names) != 3 {
		t.Errorf("%d layers, %v", len(names), err)
	}
	s.clean(t, 0)
}
