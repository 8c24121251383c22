package engine

import "github.com/coop-dev/coop/internal/sandbox"

// emulatesRoot reports whether changes of owner and identity are answered with
// a success that did not happen. It is so where there is one id only and the
// system is the sandbox's own: package managers, useradd and tar then find what
// they expect. A sandbox of the host's system gets the kernel's honest answer:
// nothing in it can be given to anybody, and dpkg is not used there.
func (e *Engine) emulatesRoot(spec sandbox.Spec) bool {
	return e.UIDs.Single() && spec.ImageConfig != nil && spec.Security.Seccomp != "off"
}

// emulation tells of it: who looks at owners inside sees root everywhere.
func (e *Engine) emulation(spec sandbox.Spec) []sandbox.Degraded {
	if !e.emulatesRoot(spec) {
		return nil
	}
	return []sandbox.Degraded{{
		Fence:  "owners",
		Reason: "owners are emulated: chown, setuid and their like say that they worked and change nothing, because without newuidmap and a subuid range (package uidmap) there is one id only",
	}}
}
