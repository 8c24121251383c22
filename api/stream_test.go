package api

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFramesComeBackAsTheyWent(t *testing.T) {
	var b bytes.Buffer
	for kind, payload := range map[byte]string{FrameData: "", FrameControl: "{}", FrameStderr: strings.Repeat("x", MaxFrame)} {
		if err := WriteFrame(&b, kind, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		k, p, err := ReadFrame(&b)
		if err != nil || k != kind || string(p) != payload {
			t.Errorf("0x%02x: 0x%02x, %d bytes, %v", kind, k, len(p), err)
		}
	}
}

func TestFrameTooLong(t *testing.T) {
	if err := WriteFrame(io.Discard, FrameData, make([]byte, MaxFrame+1)); err == nil {
		t.Error("written")
	}
	if _, _, err := ReadFrame(strings.NewReader("\x00\x00\x10\x00\x01")); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read: %v", err)
	}
}

func TestStreamEndsInsideAFrame(t *testing.T) {
	for in, want := range map[string]struct {
		err     error
		payload string
	}{
		"":                          {io.EOF, ""},
		"\x00\x00":                  {io.ErrUnexpectedEOF, ""},
		"\x00\x00\x00\x00\x02":      {io.ErrUnexpectedEOF, ""},
		"\x00\x00\x00\x00\x02x":     {io.ErrUnexpectedEOF, "x"},
		"\x02\x00\x00\x00\x02xyz":   {nil, "xy"},
		"\x01\x00\x00\x00\x00\x00x": {nil, ""},
	} {
		_, p, err := ReadFrame(strings.NewReader(in))
		if !errors.Is(err, want.err) || string(p) != want.payload {
			t.Errorf("%q: %q, %v", in, p, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02hi\x01\x00\x00\x00\x02{}"))
	f.Add([]byte("\x03\x00\x00\x00\x00"))
	f.Add([]byte("\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		var again bytes.Buffer
		for {
			kind, p, err := ReadFrame(r)
			if len(p) > MaxFrame || kind > FrameStderr {
				t.Fatalf("frame 0x%02x of %d bytes", kind, len(p))
			}
			if err != nil {
				break
			}
			if err := WriteFrame(&again, kind, p); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(in, again.Bytes()) {
			t.Fatalf("%x was read as %x", in, again.Bytes())
		}
	})
}
