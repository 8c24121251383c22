package server

import (
	"encoding/json"
	"net"
	"sync"

	"github.com/coop-dev/coop/api"
)

// frameWriter sends frames of several goroutines to one client. After a write
// failed, or was told to, it takes frames and sends nothing: the output of a
// command has to go on flowing, and whether the client is gone is for the
// reading side to say.
type frameWriter struct {
	mu   sync.Mutex
	conn net.Conn
	mute bool
}

// sink sends pieces of output as frames of one kind, header and payload in one
// write.
func (w *frameWriter) sink(kind byte) sink {
	return sink{headroom: api.FrameHeaderSize, take: func(buf []byte) {
		api.PutFrameHeader((*[api.FrameHeaderSize]byte)(buf), kind, len(buf)-api.FrameHeaderSize)
		w.send(buf)
	}}
}

func (w *frameWriter) control(c api.Control) {
	payload, err := json.Marshal(c)
	if err != nil {
		// Only details from the engine can be impossible to encode.
		c.Error = &api.Error{Code: api.CodeInternal, Message: "encode answer: " + err.Error()}
		payload, _ = json.Marshal(c) // strings always encode
	}
	buf := make([]byte, api.FrameHeaderSize, api.FrameHeaderSize+len(payload))
	api.PutFrameHeader((*[api.FrameHeaderSize]byte)(buf), api.FrameControl, len(payload))
	w.send(append(buf, payload...))
}

// send writes bytes that are whole frames and reports whether the client took
// them. Part of a frame cannot be taken back, so one failure is the last.
func (w *frameWriter) send(frames []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mute {
		return false
	}
	_, err := w.conn.Write(frames)
	w.mute = err != nil
	return err == nil
}

func (w *frameWriter) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = true
}
