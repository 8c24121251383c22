package caps

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnknown is a name that no capability of Linux 6.18 has.
var ErrUnknown = errors.New("unknown capability")

// Parse finds a capability by name, in either case, with or without "CAP_".
func Parse(name string) (Cap, error) {
	bare := strings.TrimPrefix(strings.ToUpper(name), "CAP_")
	for number, known := range names() {
		if known == bare {
			return Cap(number), nil
		}
	}
	return 0, ErrUnknown
}

// String is the name as man pages have it; a number newer than the table stays
// a number.
func (c Cap) String() string {
	if known := names(); int(c) < len(known) {
		return "CAP_" + known[c]
	}
	return "CAP_" + strconv.Itoa(int(c))
}

func names() [unix.CAP_LAST_CAP + 1]string {
	return [...]string{
		unix.CAP_CHOWN:              "CHOWN",
		unix.CAP_DAC_OVERRIDE:       "DAC_OVERRIDE",
		unix.CAP_DAC_READ_SEARCH:    "DAC_READ_SEARCH",
		unix.CAP_FOWNER:             "FOWNER",
		unix.CAP_FSETID:             "FSETID",
		unix.CAP_KILL:               "KILL",
		unix.CAP_SETGID:             "SETGID",
		unix.CAP_SETUID:             "SETUID",
		unix.CAP_SETPCAP:            "SETPCAP",
		unix.CAP_LINUX_IMMUTABLE:    "LINUX_IMMUTABLE",
		unix.CAP_NET_BIND_SERVICE:   "NET_BIND_SERVICE",
		unix.CAP_NET_BROADCAST:      "NET_BROADCAST",
		unix.CAP_NET_ADMIN:          "NET_ADMIN",
		unix.CAP_NET_RAW:            "NET_RAW",
		unix.CAP_IPC_LOCK:           "IPC_LOCK",
		unix.CAP_IPC_OWNER:          "IPC_OWNER",
		unix.CAP_SYS_MODULE:         "SYS_MODULE",
		unix.CAP_SYS_RAWIO:          "SYS_RAWIO",
		unix.CAP_SYS_CHROOT:         "SYS_CHROOT",
		unix.CAP_SYS_PTRACE:         "SYS_PTRACE",
		unix.CAP_SYS_PACCT:          "SYS_PACCT",
		unix.CAP_SYS_ADMIN:          "SYS_ADMIN",
		unix.CAP_SYS_BOOT:           "SYS_BOOT",
		unix.CAP_SYS_NICE:           "SYS_NICE",
		unix.CAP_SYS_RESOURCE:       "SYS_RESOURCE",
		unix.CAP_SYS_TIME:           "SYS_TIME",
		unix.CAP_SYS_TTY_CONFIG:     "SYS_TTY_CONFIG",
		unix.CAP_MKNOD:              "MKNOD",
		unix.CAP_LEASE:              "LEASE",
		unix.CAP_AUDIT_WRITE:        "AUDIT_WRITE",
		unix.CAP_AUDIT_CONTROL:      "AUDIT_CONTROL",
		unix.CAP_SETFCAP:            "SETFCAP",
		unix.CAP_MAC_OVERRIDE:       "MAC_OVERRIDE",
		unix.CAP_MAC_ADMIN:          "MAC_ADMIN",
		unix.CAP_SYSLOG:             "SYSLOG",
		unix.CAP_WAKE_ALARM:         "WAKE_ALARM",
		unix.CAP_BLOCK_SUSPEND:      "BLOCK_SUSPEND",
		unix.CAP_AUDIT_READ:         "AUDIT_READ",
		unix.CAP_PERFMON:            "PERFMON",
		unix.CAP_BPF:                "BPF",
		unix.CAP_CHECKPOINT_RESTORE: "CHECKPOINT_RESTORE",
	}
}
