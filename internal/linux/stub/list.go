package stub

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A stub's memory from origin on: the calls it begins with, the last of which
// reads a message to right behind itself, so that the stub goes on with what it
// has read.
const (
	origin     = 0x500800 // as in code_*.s
	callSize   = 64       // as in code_*.s
	opening    = 5        // calls before the message
	entry      = origin + opening*callSize
	maxMessage = 64 << 10
)

// The descriptors of a stub beside stdin, stdout and stderr.
const (
	Channel = 3 // a SOCK_SEQPACKET socket: the message comes here
	Report  = 4 // the write end of a pipe; as in code_*.s
	opened  = 5 // what its first open gives
)

// failed is the exit status of a stub that did not become a program: that of a
// shell whose command cannot be executed.
const failed = 126

// call is one system call. If it fails the stub goes on that many calls further
// down the list, or gives up if onward is 0.
type call struct {
	number uint64
	args   [6]uint64
	onward uint64
}

// first is what a stub begins with. Nobody inside shall look into it before it
// is a program like others. The call behind the read is for the end of file:
// then no message has taken its place.
func first(name uint64) []call {
	return []call{
		{number: unix.SYS_PRCTL, args: [6]uint64{unix.PR_SET_DUMPABLE, 0}},
		{number: unix.SYS_PRCTL, args: [6]uint64{unix.PR_SET_NAME, name}},
		{number: unix.SYS_FCNTL, args: [6]uint64{Channel, unix.F_SETFD, unix.FD_CLOEXEC}},
		{number: unix.SYS_FCNTL, args: [6]uint64{Report, unix.F_SETFD, unix.FD_CLOEXEC}},
		{number: unix.SYS_READ, args: [6]uint64{Channel, entry, maxMessage}},
		{number: unix.SYS_EXIT_GROUP, args: [6]uint64{failed}},
	}
}

// encode lays calls out as code_*.s reads them; room is left for what follows.
func encode(calls []call, room int) []byte {
	b := make([]byte, 0, len(calls)*callSize+room)
	for _, c := range calls {
		b = binary.LittleEndian.AppendUint64(b, c.number)
		for _, a := range c.args {
			b = binary.LittleEndian.AppendUint64(b, a)
		}
		b = binary.LittleEndian.AppendUint64(b, c.onward*callSize)
	}
	return b
}
