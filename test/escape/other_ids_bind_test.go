package escape

import (
	"testing"
)

func otherIDsBind() attack {
	a := otherIDs()
	a.Name = "other-ids-bind"
	a.Attack = "read a file of another user of the host that lies in a bind workspace"
	overlay := a.Host
	a.Host = func(t *testing.T, b *box) {
		overlay(t, b)
		b.create = append(b.create, "--mode", "bind")
	}
	return a
}
