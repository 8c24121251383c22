package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/linux/pty"
)

// The rows of the table of terminals.
const (
	termAttach = "coop: attach to the full screen"
	plainEcho  = "floor: key to echo on a plain PTY"
	termEcho   = "coop: key to echo"
	plainFlood = "floor: 100 MB read from a plain PTY"
	termFlood  = "coop: 100 MB to one client"
	termCrowd  = "coop: 20 MB to 50 clients"
)

// flood prints so many bytes of text as fast as a program can.
func flood(megabytes int) string {
	return fmt.Sprintf("yes 'The quick brown fox jumps over the lazy dog, 0123456789.' | head -c %d000000", megabytes)
}

// terminals measures what a person at a terminal notices.
func terminals(ctx context.Context, box *coop, n int) error {
	t := newTable()
	for i := range n {
		if err := errors.Join(box.attachSample(ctx, t), plainEchoSample(t), box.echoSample(ctx, t)); err != nil {
			return err
		}
		if i%max(1, n/5) != 0 { // seconds each: a few are enough
			continue
		}
		if err := errors.Join(plainFloodSample(t), box.floodSample(ctx, t, termFlood, 100, 1)); err != nil {
			return err
		}
	}
	if err := box.floodSample(ctx, t, termCrowd, 20, 50); err != nil {
		return err
	}
	for _, row := range t.order {
		s := sorted(t.rows[row])
		fmt.Printf("%-42s p50 %9.2f ms   p95 %9.2f ms\n", row, ms(at(s, 50)), ms(at(s, 95)))
	}
	half := func(row string) time.Duration { return at(sorted(t.rows[row]), 50) }
	fmt.Printf("\npromise: attach ≤ 50 ms: %.2f\n", ms(half(termAttach)))
	fmt.Printf("promise: key to echo ≤ 1 ms more than on a plain PTY: %.2f more\n", ms(half(termEcho)-half(plainEcho)))
	fmt.Printf("promise: 100 MB to one client at ≥ 0.5 × a plain PTY: %.2f ×\n\n", float64(half(plainFlood))/float64(half(termFlood)))
	return box.terminalMemory(ctx)
}

func (b *coop) open(ctx context.Context, command string) (int, error) {
	t, err := b.c.OpenTerminal(ctx, b.kept, api.TerminalRequest{Role: api.RoleExec, Command: command, Cols: 80, Rows: 24})
	if err != nil {
		return 0, err
	}
	return t.Number, nil
}

// attachSample times an attach until the whole screen of a program is there.
func (b *coop) attachSample(ctx context.Context, t *table) error {
	n, err := b.open(ctx, "for i in $(seq 500); do printf '\\033[3%dmline %s of some text\\033[0m\\n' $((i % 7)) $i; done; printf READY; exec sleep 1000")
	if err != nil {
		return err
	}
	defer b.c.KillTerminal(ctx, b.kept, n)
	if _, err := b.attachUntil(ctx, n, "READY"); err != nil {
		return err
	}
	took, err := b.attachUntil(ctx, n, "READY")
	t.add(termAttach, took)
	return err
}

func (b *coop) attachUntil(ctx context.Context, n int, mark string) (time.Duration, error) {
	begin := time.Now()
	s, err := b.c.AttachTerminal(ctx, b.kept, n, client.TerminalOptions{Cols: 80, Rows: 24})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	err = readUntil(s, mark)
	return time.Since(begin), err
}

func readUntil(s *client.Stream, mark string) error {
	var seen []byte
	for !bytes.Contains(seen, []byte(mark)) {
		f, err := s.Next()
		if err != nil {
			return err
		}
		seen = append(seen[max(0, len(seen)-len(mark)):], f.Payload...)
	}
	return nil
}

// echoSample times a key from the client to its echo.
func (b *coop) echoSample(ctx context.Context, t *table) error {
	n, err := b.open(ctx, "printf READY; exec cat")
	if err != nil {
		return err
	}
	defer b.c.KillTerminal(ctx, b.kept, n)
	s, err := b.c.AttachTerminal(ctx, b.kept, n, client.TerminalOptions{Cols: 80, Rows: 24})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := readUntil(s, "READY"); err != nil {
		return err
	}
	for range 10 {
		begin := time.Now()
		if _, err := s.WriteStdin([]byte("k")); err != nil {
			return err
		}
		if err := readUntil(s, "k"); err != nil {
			return err
		}
		t.add(termEcho, time.Since(begin))
	}
	return nil
}

// plain is a program on a PTY that we hold ourselves.
type plain struct {
	master *os.File
	cmd    *exec.Cmd
}

func startPlain(command string) (*plain, error) {
	master, slave, err := pty.Open("/dev/pts/ptmx")
	if err != nil {
		return nil, err
	}
	defer syscall.Close(slave)
	p := &plain{master: os.NewFile(uintptr(master), "ptmx"), cmd: exec.Command("/bin/sh", "-c", command)}
	tty := os.NewFile(uintptr(slave), "tty")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return p, errors.Join(pty.SetSize(master, 80, 24), p.cmd.Start())
}

func (p *plain) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // killed
	p.master.Close()
}

func (p *plain) until(mark string) error {
	var seen []byte
	buf := make([]byte, 64<<10)
	for !bytes.Contains(seen, []byte(mark)) {
		n, err := p.master.Read(buf)
		if err != nil {
			return err
		}
		seen = append(seen[max(0, len(seen)-len(mark)):], buf[:n]...)
	}
	return nil
}

func plainEchoSample(t *table) error {
	p, err := startPlain("printf READY; exec cat")
	if err != nil {
		return err
	}
	defer p.stop()
	if err := p.until("READY"); err != nil {
		return err
	}
	for range 10 {
		begin := time.Now()
		if _, err := p.master.WriteString("k"); err != nil {
			return err
		}
		if err := p.until("k"); err != nil {
			return err
		}
		t.add(plainEcho, time.Since(begin))
	}
	return nil
}

func plainFloodSample(t *table) error {
	p, err := startPlain(flood(100) + "; printf THE-END")
	if err != nil {
		return err
	}
	defer p.stop()
	return t.time(plainFlood, func() error { return p.until("THE-END") })
}

// floodSample times a flood from the first byte to the last client's last.
func (b *coop) floodSample(ctx context.Context, t *table, row string, megabytes, clients int) error {
	n, err := b.open(ctx, "read go; "+flood(megabytes)+"; printf THE-END")
	if err != nil {
		return err
	}
	defer b.c.KillTerminal(ctx, b.kept, n)
	var all []*client.Stream
	for range clients {
		s, err := b.c.AttachTerminal(ctx, b.kept, n, client.TerminalOptions{Cols: 80, Rows: 24})
		if err != nil {
			return err
		}
		defer s.Close()
		all = append(all, s)
	}
	begin := time.Now()
	if _, err := all[0].WriteStdin([]byte("\n")); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs, bytes := make([]error, clients), make([]int64, clients)
	for i, s := range all {
		wg.Go(func() { bytes[i], errs[i] = drain(s) })
	}
	wg.Wait()
	t.add(row, time.Since(begin))
	least := bytes[0]
	for _, n := range bytes {
		least = min(least, n)
	}
	if least < int64(megabytes)*1e6 {
		fmt.Printf("%s: the slowest client had its screen drawn anew after %d bytes\n", row, least)
	}
	return errors.Join(errs...)
}

// drain reads until the program's end is told.
func drain(s *client.Stream) (int64, error) {
	var n int64
	for {
		f, err := s.Next()
		if err != nil {
			return n, err
		}
		n += int64(len(f.Payload))
		if f.Control != nil && f.Control.Type == "exit" {
			return n, nil
		}
	}
}

// terminalMemory prints what one more terminal costs daemon and PID 1.
func (b *coop) terminalMemory(ctx context.Context) error {
	sb, err := b.c.Get(ctx, b.kept)
	if err != nil {
		return err
	}
	v, err := b.c.Version(ctx)
	if err != nil {
		return err
	}
	weigh := func() (int, error) {
		init, err := private(sb.PID)
		if err != nil {
			return 0, err
		}
		daemon, err := private(v.PID)
		return init + daemon, err
	}
	before, err := weigh()
	if err != nil {
		return err
	}
	const count = 20
	for range count {
		n, err := b.open(ctx, "printf READY; exec sleep 1000")
		if err != nil {
			return err
		}
		defer b.c.KillTerminal(ctx, b.kept, n)
		if _, err := b.attachUntil(ctx, n, "READY"); err != nil {
			return err
		}
	}
	after, err := weigh()
	fmt.Printf("memory: %d KiB a terminal (daemon and PID 1, of %d)\n", (after-before)/count, count)
	return err
}
