package escape

import "testing"

func leversHostNetwork() attack {
	a := maskedWrite()
	a.Name = "kernel-levers-host-network"
	a.Attack = "the same where the host's /sys is bound, with --network host"
	a.Host = func(t *testing.T, b *box) { b.create = append(b.create, "--network", "host") }
	return a
}
