package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/terminal/screen"
)

// The test process plays PID 1 and the program; a child of it plays the daemon
// and is killed, really, at any instant.
const childEnv = "COOP_TEST_TERMINAL"

// daemonChild is the child. Without "drain" it reads until it is killed.
func daemonChild() bool {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return false
	}
	conn, err := net.Dial("unix", os.Getenv(childEnv+"_SOCKET"))
	check(err)
	var scrollback int64
	_, err = fmt.Sscan(os.Getenv(childEnv+"_KEEP"), &scrollback)
	check(err)
	term, err := Open(Config{Role: RoleAgent, Dir: dir, Pty: &remotePty{conn: conn, r: bufio.NewReader(conn)}, PID: 1, Scrollback: scrollback})
	check(err)
	check(term.Drain(context.Background()))
	term.storing.Lock()
	term.catchUp()
	check(os.WriteFile(filepath.Join(dir, "screen"), term.screen.Save(), 0o600))
	return true
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// remotePty asks the parent. Requests are a byte, an offset and a length.
type remotePty struct {
	mu   sync.Mutex // of writing
	conn net.Conn
	r    *bufio.Reader
}

func (p *remotePty) send(op byte, off uint64, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := binary.BigEndian.AppendUint64([]byte{op}, off)
	_, err := p.conn.Write(binary.BigEndian.AppendUint32(b, uint32(n)))
	check(err)
}

func (p *remotePty) ReadAt(b []byte, off uint64) (int, error) {
	p.send('r', off, len(b))
	var n uint32
	check(binary.Read(p.r, binary.BigEndian, &n))
	switch n {
	case 0:
		return 0, io.EOF
	case 1 << 31:
		return 0, errors.New("these bytes are gone")
	}
	_, err := io.ReadFull(p.r, b[:n])
	return int(n), err
}

func (p *remotePty) Ack(off uint64)              { p.send('a', off, 0) }
func (p *remotePty) Write(b []byte) (int, error) { return len(b), nil }
func (p *remotePty) Resize(int, int) error       { return nil }
func (p *remotePty) Stream() string              { return "life-1" }
func (p *remotePty) Close() error                { return p.conn.Close() }

// serveDaemon answers one daemon until it is dead, and counts its requests.
func serveDaemon(conn net.Conn, p *fakePty, asked chan<- struct{}) {
	defer close(asked)
	defer conn.Close()
	var q [13]byte
	buf := make([]byte, largeRead)
	for {
		if _, err := io.ReadFull(conn, q[:]); err != nil {
			return
		}
		off := binary.BigEndian.Uint64(q[1:])
		if q[0] == 'a' {
			p.Ack(off)
			continue
		}
		n, err := p.ReadAt(buf[:min(binary.BigEndian.Uint32(q[9:]), rand.N(uint32(64<<10))+1)], off)
		head := uint32(n)
		if err != nil && err != io.EOF {
			head = 1 << 31
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, head), buf[:n]...)); err != nil {
			return
		}
		asked <- struct{}{}
	}
}

// counter is output in which every line says which one it is.
func counter(lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		line := fmt.Sprintf("\x1b[3%dm%09d", i%8, i)
		fmt.Fprintf(&b, "%s %08x\r\n", line, crc32.ChecksumIEEE([]byte(line)))
	}
	return b.Bytes()
}

func TestKilledDaemonLosesAndDoublesNothing(t *testing.T) {
	for _, tt := range []struct {
		name       string
		scrollback int64
	}{{"everything is kept", 64 << 20}, {"segments turn over", 1 << 10}} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKiller(t, tt.scrollback)
			out := counter(150_000)
			var program sync.WaitGroup
			program.Go(func() { k.pty.print(out); k.pty.exit() })
			kills := 0
			for kills = 0; kills < 40 && k.pty.remains(len(out)); kills++ {
				k.run(rand.N(8)+1, time.Duration(rand.N(3000))*time.Microsecond)
			}
			k.run(-1, 0)
			program.Wait()
			t.Logf("%d kills, %d bytes", kills, len(out))
			k.verify(out)
		})
	}
}

func (p *fakePty) remains(total int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked < uint64(total)
}

type killer struct {
	t          *testing.T
	pty        *fakePty
	dir        string
	scrollback int64
	ln         net.Listener
}

func newKiller(t *testing.T, scrollback int64) *killer {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return &killer{t: t, pty: newFakePty(), dir: t.TempDir(), scrollback: scrollback, ln: ln}
}

// run starts a daemon and kills it a moment after its so manieth read; -1 lets
// it come to the end.
func (k *killer) run(reads int, moment time.Duration) {
	k.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+k.dir, childEnv+"_SOCKET="+k.ln.Addr().String(),
		fmt.Sprintf("%s_KEEP=%d", childEnv, k.scrollback))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	conn, err := k.ln.Accept()
	if err != nil {
		k.t.Fatal(err)
	}
	asked := make(chan struct{})
	go serveDaemon(conn, k.pty, asked)
	for range asked {
		if reads--; reads == 0 {
			<-time.After(moment)
			_ = cmd.Process.Kill() // it may have come to its end
		}
	}
	if err := cmd.Wait(); err != nil && reads < 0 && cmd.ProcessState.ExitCode() != -1 {
		k.t.Fatal(err)
	}
}

func (k *killer) verify(out []byte) {
	k.t.Helper()
	h, err := OpenHistory(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	defer h.Close()
	if h.End() != uint64(len(out)) {
		k.t.Fatalf("%d bytes were stored, %d printed", h.End(), len(out))
	}
	stored := make([]byte, h.Size())
	if _, err := h.ReadAt(stored, 0); err != nil {
		k.t.Fatal(err)
	}
	if !bytes.Equal(stored, out[len(out)-len(stored):]) || int64(len(stored)) < min(k.scrollback, int64(len(out))) {
		k.t.Errorf("the log of %d bytes is not the end of what was printed", len(stored))
	}
	saved, err := os.ReadFile(filepath.Join(k.dir, "screen"))
	if err != nil {
		k.t.Fatal(err)
	}
	got, err := screen.Load(saved)
	if err != nil {
		k.t.Fatal(err)
	}
	want := screen.New(80, 24)
	want.Write(out)
	if d := screen.Diff(want, got); d != "" {
		k.t.Error(d)
	}
}
