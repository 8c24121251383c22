package fault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/test/harness"
	"github.com/coop-dev/coop/test/images"
)

func busybox(t *testing.T) v1.Layer {
	t.Helper()
	l, err := images.Busybox()
	harness.Need(t, !errors.Is(err, images.ErrNoBusybox), "the program busybox")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func imageOf(t *testing.T, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := images.Image(v1.Config{}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// halting is a registry that sends the first half of one blob and then nothing
// until it is let go.
type halting struct {
	digest string
	blob   []byte
	halted chan struct{} // closed when half of it is out
	goOn   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	ranges []string
}

func (h *halting) answer(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/blobs/"+h.digest) {
		return false
	}
	h.mu.Lock()
	h.ranges = append(h.ranges, r.Header.Get("Range"))
	h.mu.Unlock()
	select {
	case <-h.goOn:
		return false
	default:
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(h.blob)))
	_, _ = w.Write(h.blob[:len(h.blob)/2])
	_ = http.NewResponseController(w).Flush()
	h.once.Do(func() { close(h.halted) })
	select {
	case <-h.goOn:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// The daemon is killed in the middle of a pull. Nothing of it is taken for an
// image, and the next pull goes on where this one was.
func TestKilledDuringPull(t *testing.T) {
	base := busybox(t)
	noise := make([]byte, 4<<20)
	_, _ = rand.Read(noise) // never fails
	big, err := images.Layer(images.File{Name: "opt/noise", Content: noise})
	if err != nil {
		t.Fatal(err)
	}
	rc, err := big.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	blob, err := io.ReadAll(rc)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := big.Digest()
	if err != nil {
		t.Fatal(err)
	}
	h := &halting{digest: digest.String(), blob: blob, halted: make(chan struct{}), goOn: make(chan struct{})}
	reg := images.Serve(h.answer)
	defer reg.Close()
	ref, err := reg.Push("killed:1", imageOf(t, base, big))
	if err != nil {
		t.Fatal(err)
	}
	home := harness.Private(t)
	c := home.Client(t)
	home.StartDaemon(t)
	arrived := make(chan struct{})
	pulled := make(chan error, 1)
	go func() {
		var half, unpacked, told bool
		_, err := c.PullImage(within(t, time.Minute), api.PullRequest{Reference: ref}, func(e api.ImageEvent) {
			half = half || e.Layer == digest.String() && e.Status == "downloading" && e.Done > 0
			unpacked = unpacked || e.Layer != digest.String() && e.Status == "done"
			if half && unpacked && !told {
				told = true
				close(arrived)
			}
		})
		pulled <- err
	}()
	select {
	case <-arrived:
	case err := <-pulled:
		t.Fatalf("the pull ended: %v", err)
	}
	<-h.halted
	home.KillDaemon(t)
	if err := <-pulled; err == nil {
		t.Fatal("the pull came through")
	}
	if r := home.Coop(t, "image", "ls", "-q"); r.Code != 0 || r.Stdout != "" {
		t.Errorf("half an image is listed: %+v", r)
	}
	if r := home.Coop(t, "create", "--mode", "none", "--pull", "never", "--image", ref); r.Code != 3 {
		t.Errorf("a sandbox of half an image: %+v", r)
	}
	close(h.goOn)
	h.mu.Lock()
	h.ranges = nil
	h.mu.Unlock()
	if r := home.Coop(t, "run", "--mode", "none", "--image", ref, "--", "wc", "-c", "/opt/noise"); r.Code != 0 || !strings.HasPrefix(r.Stdout, fmt.Sprint(len(noise))) {
		t.Fatalf("%+v", r)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ranges) != 1 || !strings.HasPrefix(h.ranges[0], "bytes=") || h.ranges[0] == "bytes=0-" {
		t.Errorf("it began anew: %q", h.ranges)
	}
	if left, err := os.ReadDir(filepath.Join(home.Dir, "layers", "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Twenty sandboxes of one image have its files once: on disk and, being the same
// inodes, in the page cache.
func TestSandboxesShareLayers(t *testing.T) {
	base := busybox(t)
	reg := images.Serve()
	defer reg.Close()
	ref, err := reg.Push("shared:1", imageOf(t, base))
	if err != nil {
		t.Fatal(err)
	}
	home := harness.Private(t)
	c := home.Client(t)
	if r := home.Coop(t, "image", "pull", ref); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	layers := filepath.Join(home.Dir, "layers")
	before, err := diskuse.Tree(t.Context(), layers)
	if err != nil {
		t.Fatal(err)
	}
	inodes := map[string]int{}
	for range 20 {
		sb, err := c.Create(within(t, time.Minute), api.CreateRequest{Image: ref})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Exec(within(t, time.Minute), sb.ID, api.ExecRequest{Command: "stat -c %i /bin/busybox"})
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		inodes[r.Stdout]++
	}
	if len(inodes) != 1 {
		t.Errorf("%d different files: %v", len(inodes), inodes)
	}
	after, err := diskuse.Tree(t.Context(), layers)
	if err != nil || after != before {
		t.Errorf("layers took %d bytes, now %d, %v", before, after, err)
	}
	if used := uppers(t, home); used > 20*200<<10 {
		t.Errorf("20 sandboxes take %d bytes of their own", used)
	}
}

// A real distribution, where there is one: COOP_TEST_DEBIAN names a tar of its
// root, as debootstrap makes it.
func TestDebian(t *testing.T) {
	file := os.Getenv("COOP_TEST_DEBIAN")
	if file == "" {
		t.Skip("COOP_TEST_DEBIAN names no root filesystem")
	}
	home := harness.Private(t)
	if r := home.Coop(t, "image", "import", file, "debian:test"); r.Code != 0 || !strings.Contains(r.Stderr, "device nodes left out") {
		t.Fatalf("%+v", r)
	}
	for command, want := range map[string]string{
		"dpkg --verify": "",
		"rm -rf /usr/share/doc && ls /usr/share/doc 2>&1":           "ls: cannot access '/usr/share/doc': No such file or directory\n",
		"mv /usr/share/man /usr/share/x && ls /usr/share/x":         "",
		"echo x >>/etc/debian_version; tail -1 /etc/passwd":         "",
		"perl -e 'print 6*7'":                                       "42",
		"find / -xdev -type b -o -xdev -type c -not -path '/dev/*'": "",
	} {
		r := home.Coop(t, "run", "--rm", "--mode", "none", "--image", "debian:test", "--", "bash", "-c", command)
		if want != "" && r.Stdout != want || strings.Contains(r.Stderr, "rror") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// uppers counts what sandboxes have written themselves. Some of it belongs to
// ids we may not look at, so the daemon's own account would be needed for more.
func uppers(t *testing.T, home harness.Instance) (sum int64) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(home.Dir, "sandboxes", "*", "upper"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no sandboxes: %v", err)
	}
	for _, d := range dirs {
		n, err := diskuse.Tree(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
