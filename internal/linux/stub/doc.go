// Package stub is the smallest program there can be: a process that waits for
// one message and carries out the system calls listed in it, the last of which
// is execve. PID 1 starts one ahead of need, with all the fences of a program;
// the daemon then turns it into the program somebody asks for, without a fork
// and without PID 1 on the way.
//
//	stub                                          daemon
//	not dumpable; 3 and 4 are close-on-exec
//	read 3                                   ←    calls, strings, argv, environment
//	the calls, one after the other
//	execve closes 4                          →    end of file: it is the program now
//	or a call fails: 64 bytes to 4, and exit →    it is not
//	3 at its end: exit                       ←    the daemon has no more use for it
//
// It is a handful of instructions (code_*.s) that work off a list of calls
// (list.go), packed into an ELF file of its own (image.go), so that it shares no
// memory with PID 1 and holds none of its secrets. A fork of PID 1 would: and
// would have to run without Go's run-time, and cost PID 1 a page fault for
// whatever it writes to next.
//
// Invariant: a stub can do nothing that a program of the sandbox could not do by
// itself. Whoever takes one over from inside has won a process like its own.
package stub
