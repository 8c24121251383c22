// Package escape holds the attacks that must fail, one file each, run by a
// program inside a real sandbox. It owns the proof that each fence is what stops
// its attack: every attack runs again with only that fence taken away and must
// then succeed, or names the second fence that still holds. Where a fence cannot
// be taken away (a namespace, an id map), a control shows that the same attempt
// works on something unprotected, so that a broken probe cannot pass for a
// denial.
//
// The test program copies itself into the sandbox's workspace and is started
// there with the name of one attack; see inside_test.go. Fences are taken away by
// a label that only a coop built with the tag fencetest reads.
package escape
