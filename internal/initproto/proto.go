// Package initproto is the protocol between the daemon and coop-init, PID 1 of
// a sandbox: a leaf that both ends import. Messages are JSON behind a 4-byte
// big-endian length; descriptors travel beside them (SCM_RIGHTS) with the first
// byte of the message they belong to.
//
// Making a sandbox, on the socket pair PID 1 was born with. An error may
// replace any answer of PID 1 and ends it:
//
//	daemon                     coop-init
//	setup + mounts        →
//	                      ←    ready (what is missing of the optional fences)
//	  (state.json written)
//	commit                →    from here on PID 1 outlives its daemon; a channel
//	                           that closes earlier ends it
//
// Afterwards, on the same socket or on one accepted from init.sock (then it
// begins with hello), every request has an id and one answer with that id:
//
//	hello                 ↔    version, execs that still run or are unacknowledged, terminals
//	adopt                 ↔    pipe ends of one of the execs
//	spawn + stdio         ↔    pid
//	spare + its streams   ↔    pid of a process that waits to become an exec
//	used                  →    (no answer) it has become one
//	                      ←    exited (no id; repeated after a hello until acknowledged)
//	ack                   →    (no answer)
//	terminal              ↔    pid, ring and master: a program on a new terminal, or another one
//	                           on a terminal whose last program has ended
//	adoptTerminal         ↔    ring, and the master if a program is on it
//	                      ←    exited: the program has ended and all it wrote is in the ring
//	forget                ↔    (a terminal whose program has ended)
//	signal, closeStdin, kill, open, attach, processes, terminate   ↔
//
// Programs on terminals have exec ids too: signal and kill reach them. PID 1
// keeps the end of such a program until the terminal gets another one or is
// forgotten; output waits in the terminal's ring (package ring) until the daemon
// has stored and acknowledged it there. Resizing and input need no message: the
// daemon holds the master.
//
// Invariant: everything PID 1 sends is treated as hostile by the daemon: sizes
// are bounded here, contents by the reader.
package initproto

import "syscall"

// Version is raised when the two ends no longer understand each other.
const Version = 2

// Op names what a message asks or tells.
type Op string

// The operations of the table above.
const (
	OpSetup      Op = "setup"
	OpReady      Op = "ready"
	OpCommit     Op = "commit"
	OpHello      Op = "hello"
	OpAdopt      Op = "adopt"
	OpSpawn      Op = "spawn"
	OpExited     Op = "exited"
	OpAck        Op = "ack"
	OpTerminal   Op = "terminal"
	OpAdoptTerm  Op = "adoptTerminal"
	OpForget     Op = "forget"
	OpSignal     Op = "signal"
	OpCloseStdin Op = "closeStdin"
	OpKill       Op = "kill"
	OpOpen       Op = "open"
	OpAttach     Op = "attach"
	OpProcesses  Op = "processes"
	OpTerminate  Op = "terminate"
	OpSpare      Op = "spare"
	OpUsed       Op = "used"
)

// Message is one frame. Exactly the field that Op names is set; an answer
// repeats ID and Op.
type Message struct {
	ID    uint64 `json:"id,omitempty"`
	Op    Op     `json:"op"`
	FDs   int    `json:"fds,omitempty"` // how many descriptors came with it
	Error *Error `json:"error,omitempty"`

	Setup     *Setup     `json:"setup,omitempty"`
	Ready     *Ready     `json:"ready,omitempty"`
	Hello     *Hello     `json:"hello,omitempty"`
	Spawn     *Spawn     `json:"spawn,omitempty"`
	PID       int        `json:"pid,omitempty"`  // spawn's answer, signal's target
	Exec      string     `json:"exec,omitempty"` // which exec: ack, signal, closeStdin, kill, exited, spare, used
	Status    *Status    `json:"status,omitempty"`
	Signal    int        `json:"signal,omitempty"`
	Open      *Open      `json:"open,omitempty"`
	Attach    *Mount     `json:"attach,omitempty"`
	Processes []Process  `json:"processes,omitempty"`
	Terminate *Terminate `json:"terminate,omitempty"`
	Terminal  *Terminal  `json:"terminal,omitempty"` // which one: terminal (with Spawn), adoptTerminal, forget
}

// Error is a step that failed, with the system's own error number, so that
// errors.Is(err, syscall.EPERM) holds on the daemon's side too.
type Error struct {
	Step    string `json:"step"`
	Errno   int    `json:"errno,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message,omitempty"`
}

// Error reads "step path: cause".
func (e *Error) Error() string {
	s := e.Step
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Message != "" {
		return s + ": " + e.Message
	}
	return s + ": " + syscall.Errno(e.Errno).Error()
}

// Unwrap gives the error number, nil when there was none.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return syscall.Errno(e.Errno)
}

// Setup is everything PID 1 needs to make the sandbox; descriptors are named by
// their index among those that came with the message.
type Setup struct {
	Hostname     string   `json:"hostname"`
	Root         int      `json:"root"` // detached mount of the root filesystem
	ReadonlyRoot bool     `json:"readonlyRoot,omitempty"`
	Mounts       []Mount  `json:"mounts,omitempty"`
	Workspace    string   `json:"workspace,omitempty"` // directory to make when nothing is mounted there
	User         string   `json:"user,omitempty"`      // whose home ~ is in the targets of mounts
	Keep         int      `json:"keep,omitempty"`      // descriptor PID 1 keeps for the next daemon, 0: none
	OwnNet       bool     `json:"ownNet"`              // a network namespace of its own
	Groups       bool     `json:"groups"`              // setgroups is allowed
	OneID        bool     `json:"oneId,omitempty"`     // changes of owner and identity are answered, not made
	Bounding     uint64   `json:"bounding"`            // capability bits programs may have
	Seccomp      []byte   `json:"seccomp,omitempty"`
	Optional     []string `json:"optional,omitempty"` // fences that may be missing
	TmpBytes     int64    `json:"tmpBytes,omitempty"` // size of /tmp and /dev/shm, 0: the kernel's default
	Without      []string `json:"without,omitempty"`  // fences taken away; see package fence
}

// Mount is one detached mount and where it goes.
type Mount struct {
	FD       int    `json:"fd"`
	Target   string `json:"target"`             // absolute, or ~/… in the home of Setup.User
	Root     bool   `json:"root,omitempty"`     // part of the image: read-only with ReadonlyRoot
	ReadOnly bool   `json:"readOnly,omitempty"` // always read-only
	Own      bool   `json:"own,omitempty"`      // Setup.User gets its top directory if that is root's
}

// Ready is the answer to Setup.
type Ready struct {
	Degraded []Missing `json:"degraded,omitempty"`
}

// Missing is one optional fence that could not be raised.
type Missing struct {
	Fence  string `json:"fence"`
	Reason string `json:"reason"`
}

// Hello opens a connection on init.sock. In the answer Execs and Terminals tell
// what PID 1 still holds something of; NextTerminal is the first number no
// terminal ever had.
type Hello struct {
	Version      int        `json:"version"`
	Execs        []Exec     `json:"execs,omitempty"`
	Terminals    []Terminal `json:"terminals,omitempty"`
	NextTerminal int        `json:"nextTerminal,omitempty"`
}

// Terminal is a PTY of the sandbox. A request names it by Number and gives the
// window size; Spawn beside it says what shall run, without pipes. The rest
// describes it to a new daemon.
type Terminal struct {
	Number int     `json:"number"`
	Cols   int     `json:"cols,omitempty"`
	Rows   int     `json:"rows,omitempty"`
	Exec   string  `json:"exec,omitempty"` // the program that runs on it, or ran last
	PID    int     `json:"pid,omitempty"`
	Note   string  `json:"note,omitempty"`
	Status *Status `json:"status,omitempty"` // set when it has ended
}

// Exec is a command PID 1 still holds something of.
type Exec struct {
	ID     string  `json:"id"`
	PID    int     `json:"pid"`
	Note   string  `json:"note,omitempty"`   // the daemon's own words, given at spawn
	Stdin  bool    `json:"stdin,omitempty"`  // adopt gives the write end of its stdin, then stdout and stderr
	Status *Status `json:"status,omitempty"` // set when it has ended
}

// Spawn starts one program. With it come the program's stdin (only if Stdin;
// otherwise it is empty), stdout and stderr, then the daemon's ends of the same
// that PID 1 keeps for the next daemon.
type Spawn struct {
	Exec  string   `json:"exec"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Dir   string   `json:"dir"`
	User  string   `json:"user"`
	Stdin bool     `json:"stdin,omitempty"`
	Login bool     `json:"login,omitempty"` // the user's own shell as a login shell if there is one, instead of Argv
	Note  string   `json:"note,omitempty"`
}

// Status is how a program ended. End and RanMs are of programs on terminals: how
// far the terminal's output goes with all that the program wrote, and how long
// it lived.
type Status struct {
	Code   int    `json:"code"`
	Signal int    `json:"signal,omitempty"`
	End    uint64 `json:"end,omitempty"`
	RanMs  int64  `json:"ranMs,omitempty"`
}

// Open opens a file as the sandbox sees it; the answer carries the descriptor.
type Open struct {
	Kept  bool   `json:"kept,omitempty"` // not a path: what Setup.Keep named
	Path  string `json:"path"`
	Flags int    `json:"flags"`
	Mode  uint32 `json:"mode,omitempty"`
}

// Process is one process inside.
type Process struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	UID     int    `json:"uid"`
	State   string `json:"state"`
	Command string `json:"command"`
	CPUMs   int64  `json:"cpuMs"`
	RSS     int64  `json:"rss"`
	AgeMs   int64  `json:"ageMs"`
	Exec    string `json:"exec,omitempty"`
}

// Terminate asks every program to end: SIGTERM, then SIGKILL after the grace
// period. The answer comes when none is left.
type Terminate struct {
	GraceMs int64 `json:"graceMs"`
}
