// Package cli is the command line: one file for each verb, with its options,
// its flags and what it does. It owns what a person sees (output.go) and the
// exit statuses (exit.go). It refuses to know a sandbox by any way but package
// client: what the command line can do, the API can do. What needs more than
// that (to be a daemon, to start one, to look at the host) comes in by Hooks.
//
// Invariant: stdout carries results and nothing else, so that every verb can
// stand in a pipe.
package cli
