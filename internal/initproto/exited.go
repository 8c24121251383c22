package initproto

import (
	"bytes"
	"strconv"
)

// Somebody waits for every end of a program, so the message that tells it is
// written and read without reflection. It is the same JSON as any other: either
// side may use the general way, and does when anything is unusual.

const (
	exitedHead   = `{"op":"exited","exec":"`
	exitedStatus = `","status":{"code":`
	exitedSignal = `,"signal":`
	exitedTail   = `}}`
)

// appendExited appends an exited message, if m is one and nothing else.
func appendExited(b []byte, m Message) ([]byte, bool) {
	if m.Op != OpExited || m.Status == nil || *m.Status != (Status{Code: m.Status.Code, Signal: m.Status.Signal}) ||
		!plain(m.Exec) || m.ID != 0 || m.FDs != 0 || m.Error != nil {
		return b, false
	}
	b = append(append(append(b, exitedHead...), m.Exec...), exitedStatus...)
	b = strconv.AppendInt(b, int64(m.Status.Code), 10)
	if m.Status.Signal != 0 {
		b = strconv.AppendInt(append(b, exitedSignal...), int64(m.Status.Signal), 10)
	}
	return append(b, exitedTail...), true
}

// parseExited reads what appendExited wrote.
func parseExited(b []byte) (Message, bool) {
	b, ok1 := bytes.CutPrefix(b, []byte(exitedHead))
	b, ok2 := bytes.CutSuffix(b, []byte(exitedTail))
	exec, status, ok3 := bytes.Cut(b, []byte(exitedStatus))
	if !ok1 || !ok2 || !ok3 || !plain(string(exec)) {
		return Message{}, false
	}
	code, signal, hasSignal := bytes.Cut(status, []byte(exitedSignal))
	m := Message{Op: OpExited, Exec: string(exec), Status: &Status{}}
	var ok bool
	if m.Status.Code, ok = number(code); !ok {
		return Message{}, false
	}
	if hasSignal {
		m.Status.Signal, ok = number(signal)
	}
	return m, ok
}

// number reads what JSON and strconv write alike: up to nine digits, without a
// sign, without leading zeros.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 || (b[0] == '0' && len(b) > 1) || bytes.ContainsFunc(b, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil
}

// plain reports whether an id is written in JSON as it is.
func plain(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return id != ""
}
