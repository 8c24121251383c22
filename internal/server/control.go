package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

var errDetached = errors.New("the client has detached")

// readFrames takes what the client sends until it is gone, has detached, or
// has broken the protocol. Only then the attachment's context ends early.
func (a *attachment) readFrames() {
	var buf []byte
	for {
		kind, n, err := api.ReadFrameHeader(a.in)
		if err == nil {
			buf = slices.Grow(buf[:0], n)[:n]
			_, err = io.ReadFull(a.in, buf)
		}
		if err == nil {
			err = a.takeFrame(kind, buf)
		}
		if errors.Is(err, errDetached) {
			return
		}
		if err != nil {
			a.cancel(readError(err))
			return
		}
	}
}

// readError tells a client that has gone from one that breaks the protocol.
func readError(err error) error {
	var op *net.OpError
	var known *sandbox.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op):
		return fmt.Errorf("%w: %w", errVanished, err)
	case errors.As(err, &known), errors.Is(err, errVanished):
		return err
	}
	return sandbox.Errorf(sandbox.Invalid, "%w", err)
}

func (a *attachment) takeFrame(kind byte, payload []byte) error {
	switch kind {
	case api.FrameData:
		return a.push(payload)
	case api.FrameControl:
		return a.takeControl(payload)
	}
	return sandbox.Errorf(sandbox.Invalid, "frames of type 0x%02x are only sent by the daemon", kind)
}

// push queues stdin. While the queue is full, a megabyte ahead of a command
// that does not read, nothing more is read from the client. Its frames are in
// order, so no control frame can pass the stdin before it; a client in that
// place signals with POST …/exec/{exec}/signal or hangs up. That it hung up
// cannot be read either, so an empty stdout frame is written now and then:
// that fails when there is nobody.
func (a *attachment) push(payload []byte) error {
	if a.stdin == nil {
		if len(payload) == 0 {
			return nil
		}
		return sandbox.Errorf(sandbox.Invalid, "stdin frame, but the request was not interactive")
	}
	if a.stdin.push(payload) {
		return nil
	}
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	for !a.stdin.push(payload) {
		select {
		case <-a.stdin.room:
		case <-probe.C:
			if !a.out.send([]byte{api.FrameData, 0, 0, 0, 0}) {
				return errVanished
			}
		}
	}
	return nil
}

func (a *attachment) takeControl(payload []byte) error {
	var c api.Control
	if err := json.Unmarshal(payload, &c); err != nil {
		return sandbox.Errorf(sandbox.Invalid, "control frame: %w", err)
	}
	switch c.Type {
	case "signal":
		return a.signal(c.Signal)
	case "closeStdin":
		if a.stdin != nil {
			a.stdin.close()
		}
		return nil
	case "resize": // there is no terminal to resize
		return nil
	case "detach":
		a.out.silence()
		if a.stdin != nil {
			a.stdin.close()
		}
		return errDetached
	}
	return sandbox.Errorf(sandbox.Invalid, "unknown control frame %.32q", c.Type)
}

func (a *attachment) signal(s string) error {
	name, err := signalName(s)
	if err != nil {
		return err
	}
	_ = a.exec.Signal(name) // the command may have ended meanwhile, and that is told by exit
	return nil
}
