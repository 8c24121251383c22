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

// The rows of terminals: each beside the same on a plain PTY of the host.
const (
	plainOutput = "plain PTY: 100 MB read"
	coopOutput  = "coop: 100 MB to one client"
	plainEcho   = "plain PTY: keystroke to echo"
	coopEcho    = "coop: keystroke to echo at a client"
	coopAttach  = "coop: attach to full screen"
	coopCrowd   = "coop: 10 MB to each of 50 clients"
)

// output prints so many megabytes as a program does that knows no terminal.
func output(megabytes int) string {
	return fmt.Sprintf("stty -opost; head -c %d000000 /dev/zero | tr '\\0' x; printf END", megabytes)
}

// echo gives back what is typed.
const echo = "stty raw -echo; printf READY; exec cat"

// terminals prints what a terminal costs against a plain PTY in the same run.
func terminals(ctx context.Context, box *coop, n int) error {
	t := newTable()
	for range max(3, n/20) {
		if err := errors.Join(
			t.time(plainOutput, func() error { return plain(output(100), "END") }),
			t.time(coopOutput, func() error { return box.shows(ctx, output(100), "END") }),
		); err != nil {
			return err
		}
	}
	if err := errors.Join(box.echoes(ctx, t, 3*n), box.attaches(ctx, t, n), box.crowd(ctx, t)); err != nil {
		return err
	}
	p := func(row string) time.Duration { return at(sorted(t.rows[row]), 50) }
	fmt.Println()
	for _, row := range t.order {
		fmt.Printf("%s: p50 %.3f ms, p95 %.3f ms\n", row, ms(p(row)), ms(at(sorted(t.rows[row]), 95)))
	}
	fmt.Printf("promise: output at ≥ 0.5 × a plain PTY: %.2f\n", float64(p(plainOutput))/float64(p(coopOutput)))
	fmt.Printf("promise: echo ≤ 1 ms after a plain PTY's: %.3f ms\n", ms(p(coopEcho)-p(plainEcho)))
	fmt.Printf("promise: screen restored in ≤ 50 ms: %.1f ms\n", ms(p(coopAttach)))
	return box.weigh(ctx)
}

// plainTerminal runs a script on a PTY of the host.
func plainTerminal(script string) (*os.File, *exec.Cmd, error) {
	m, s, err := pty.Open("/dev/pts/ptmx")
	if err != nil {
		return nil, nil, err
	}
	master, slave := os.NewFile(uintptr(m), "master"), os.NewFile(uintptr(s), "slave")
	defer slave.Close()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return master, cmd, cmd.Start()
}

// plain reads a PTY until its program has said its last word.
func plain(script, last string) error {
	master, cmd, err := plainTerminal(script)
	if err != nil {
		return err
	}
	defer master.Close()
	if err := readTo(master.Read, last); err != nil {
		return err
	}
	return cmd.Wait()
}

// readTo reads until a text has come, which may be in the middle of what comes:
// a screen goes on after it with its modes.
func readTo(read func([]byte) (int, error), text string) error {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the last read that may be the beginning of the text
	for {
		n, err := read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("before %q: %w", text, err)
		}
		kept = copy(buf, buf[max(0, kept+n-len(text)):kept+n])
	}
}

// viewed opens a terminal and attaches to it.
func (b *coop) viewed(ctx context.Context, script string) (*client.Stream, int, error) {
	t, err := b.c.OpenTerminal(ctx, b.kept, api.TerminalRequest{Role: api.RoleExec, Command: script, Cols: 80, Rows: 24})
	if err != nil {
		return nil, 0, err
	}
	s, err := b.c.AttachTerminal(ctx, b.kept, t.Number, client.TerminalOptions{Cols: 80, Rows: 24})
	return s, t.Number, err
}

// reader gives the output of a stream piece by piece.
func reader(s *client.Stream) func([]byte) (int, error) {
	return func(p []byte) (int, error) {
		for {
			f, err := s.Next()
			if err != nil {
				return 0, err
			}
			if f.Kind == api.FrameData {
				return copy(p, f.Payload[max(0, len(f.Payload)-len(p)):]), nil
			}
		}
	}
}

func (b *coop) shows(ctx context.Context, script, last string) error {
	s, _, err := b.viewed(ctx, script)
	if err != nil {
		return err
	}
	defer s.Close()
	return readTo(reader(s), last)
}

// echoes types on both in turn.
func (b *coop) echoes(ctx context.Context, t *table, n int) error {
	master, cmd, err := plainTerminal(echo)
	if err != nil {
		return err
	}
	defer func() { master.Close(); _ = cmd.Wait() }() // the hang-up ends it
	s, number, err := b.viewed(ctx, echo)
	if err != nil {
		return err
	}
	defer func() { s.Close(); _ = b.c.KillTerminal(ctx, b.kept, number) }() // the sandbox goes anyway
	read := reader(s)
	if err := errors.Join(readTo(master.Read, "READY"), readTo(read, "READY")); err != nil {
		return err
	}
	for range n {
		err := errors.Join(
			t.time(plainEcho, func() error { _, err := master.Write([]byte("k")); return errors.Join(err, readTo(master.Read, "k")) }),
			t.time(coopEcho, func() error { _, err := s.WriteStdin([]byte("k")); return errors.Join(err, readTo(read, "k")) }),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// attaches looks again and again at a screen full of text, drawn after a megabyte
// of output.
func (b *coop) attaches(ctx context.Context, t *table, n int) error {
	s, number, err := b.viewed(ctx, "seq 1 200000; printf END; exec sleep 1000")
	if err != nil {
		return err
	}
	defer func() { s.Close(); _ = b.c.KillTerminal(ctx, b.kept, number) }() // the sandbox goes anyway
	if err := readTo(reader(s), "END"); err != nil {
		return err
	}
	for range n {
		err := t.time(coopAttach, func() error {
			s, err := b.c.AttachTerminal(ctx, b.kept, number, client.TerminalOptions{Cols: 80, Rows: 24})
			if err != nil {
				return err
			}
			defer s.Close()
			return readTo(reader(s), "END")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// crowd lets fifty clients watch one terminal.
func (b *coop) crowd(ctx context.Context, t *table) error {
	s, number, err := b.viewed(ctx, "read x; "+output(10)+"; exec sleep 1000")
	if err != nil {
		return err
	}
	defer func() { s.Close(); _ = b.c.KillTerminal(ctx, b.kept, number) }() // the sandbox goes anyway
	all := []*client.Stream{s}
	for range 49 {
		c, err := b.c.AttachTerminal(ctx, b.kept, number, client.TerminalOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer c.Close()
		all = append(all, c)
	}
	errs := make([]error, len(all))
	return errors.Join(t.time(coopCrowd, func() error {
		if _, err := s.WriteStdin([]byte("\r")); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for i, c := range all {
			wg.Go(func() { errs[i] = readTo(reader(c), "END") })
		}
		wg.Wait()
		return nil
	}), errors.Join(errs...))
}

// weigh prints what idle terminals cost that have printed a megabyte before.
func (b *coop) weigh(ctx context.Context) error {
	const count = 20
	sb, err := b.c.Get(ctx, b.kept)
	if err != nil {
		return err
	}
	v, err := b.c.Version(ctx)
	if err != nil {
		return err
	}
	init, err1 := private(sb.PID)
	daemon, err2 := private(v.PID)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for range count {
		s, _, err := b.viewed(ctx, "seq 1 150000; printf END; exec sleep 1000")
		if err == nil {
			err = readTo(reader(s), "END")
		}
		if err != nil {
			return err
		}
		s.Close()
	}
	init2, err1 := private(sb.PID)
	daemon2, err2 := private(v.PID)
	fmt.Printf("idle terminal: %d KiB of PID 1; the daemon has %d KiB private, with %d more terminals %d KiB\n", (init2-init)/count, daemon, count, daemon2)
	return errors.Join(err1, err2)
}
