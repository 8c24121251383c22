// Package sandbox holds what a sandbox is: its specification, its record and
// states, its names, and the one error type with codes. It is pure: it knows
// the standard library and nothing of kernels, stores or HTTP. Every other
// package speaks in these types.
//
// Invariant: a Spec that passed Validate can be handed to the kernel layers
// without further syntactic checks; they only meet conditions of the host.
package sandbox
