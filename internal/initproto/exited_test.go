package initproto

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestExitedIsTheSameJSON(t *testing.T) {
	for _, s := range []Status{{}, {Code: 7}, {Code: 255}, {Code: 137, Signal: 9}} {
		m := Message{Op: OpExited, Exec: "0123abcdef-XYZ", Status: &s}
		got, ok := appendExited(nil, m)
		want, err := json.Marshal(m)
		if !ok || err != nil || string(got) != string(want) {
			t.Errorf("%s, want %s", got, want)
		}
		back, ok := parseExited(got)
		if !ok || !reflect.DeepEqual(back, m) {
			t.Errorf("%+v, want %+v", back, m)
		}
	}
}

// TestExitedLeavesTheRest to the general way.
func TestExitedLeavesTheRest(t *testing.T) {
	s := &Status{}
	for name, m := range map[string]Message{
		"another":     {Op: OpAck, Exec: "x", Status: s},
		"no status":   {Op: OpExited, Exec: "x"},
		"no exec":     {Op: OpExited, Status: s},
		"an odd name": {Op: OpExited, Exec: `a"b`, Status: s},
		"an id":       {Op: OpExited, Exec: "x", Status: s, ID: 1},
		"descriptors": {Op: OpExited, Exec: "x", Status: s, FDs: 1},
		"an error":    {Op: OpExited, Exec: "x", Status: s, Error: &Error{}},
	} {
		if b, ok := appendExited(nil, m); ok {
			t.Errorf("%s: %s", name, b)
		}
	}
	for _, b := range []string{
		``, `{}`, `{"op":"exited","exec":"x","status":{"code":}}`, `{"op":"exited","exec":"x","status":{"code":-1}}`,
		`{"op":"exited","exec":"x","status":{"code":01}}`, `{"op":"exited","exec":"x","status":{"code":1234567890}}`,
		`{"op":"exited","exec":"","status":{"code":1}}`, `{"op":"exited","exec":"a\"b","status":{"code":1}}`,
		`{"op":"exited","exec":"x","status":{"code":1,"signal":}}`, `{"op":"exited","exec":"x","status":{"code":1,"signal":x}}`,
		`{"op":"exited","exec":"x","status":{"code":1},"fds":1}`, `{"op":"exited","exec":"x","status":{"code":1}} `,
	} {
		if m, ok := parseExited([]byte(b)); ok {
			t.Errorf("%s: %+v", b, m)
		}
	}
}

// FuzzExited: whatever is read the quick way reads the same the general way.
func FuzzExited(f *testing.F) {
	f.Add([]byte(`{"op":"exited","exec":"0a","status":{"code":137,"signal":9}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := parseExited(b)
		if !ok {
			return
		}
		var want Message
		if err := json.Unmarshal(b, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v, %v", b, got, want, err)
		}
	})
}
