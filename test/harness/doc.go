// Package harness runs end-to-end suites against the real coop binary: one
// binary and one COOP_HOME per test program, and a keeper that looks, from
// outside and after the last test, for anything that was left behind.
//
// A test program is two processes:
//
//	keeper  the one `go test` started: builds coop, makes the home, adopts
//	        whatever loses its parent, and at the end removes and looks
//	inner   its child: the same program again, which runs the tests
//
// The keeper is a child subreaper, prctl(2): daemons go into the background and
// a killed daemon leaves its PID 1s without a parent, but all of them stay
// descendants of the keeper. So "a process was left" needs no guessing by name.
//
// Invariant: a suite whose tests pass still fails when a process, a directory, a
// control group or a mount of its home outlives it.
//
// Environment, all optional:
//
//	COOP_BIN        the binary to test; with build tags COOP_BIN_<TAGS>
//	COOP_TEST_HOME  the home to use; not removed afterwards
//	CI              "true": a missing ability is a failure, not a skip
package harness
