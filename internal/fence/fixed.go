//go:build !fencetest

package fence

// Removable says whether fences can be taken away in this build.
const Removable = false
