package escape

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func hostKeys() attack {
	return attack{
		Class: ipcClass, Name: "host-keys",
		Attack: "read a key of the person who started the daemon, by its serial number and by search",
		Proves: "keys of the host are out of reach",
		Host: func(t *testing.T, b *box) {
			id, err := unix.AddKey("user", "coop-escape-"+strconv.FormatInt(time.Now().UnixNano(), 36), []byte("secret"), unix.KEY_SPEC_USER_KEYRING)
			if err != nil {
				t.Fatal(err)
			}
			const everythingForOwner = 0x3f3f0000
			if err := unix.KeyctlSetperm(id, everythingForOwner); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if _, err := unix.KeyctlInt(unix.KEYCTL_REVOKE, id, 0, 0, 0); err != nil {
					t.Error(err)
				}
			})
			b.env["COOP_TARGET"] = strconv.Itoa(id)
		},
		Run: func() error {
			id, err := strconv.Atoi(os.Getenv("COOP_TARGET"))
			if err != nil {
				return err
			}
			buf := make([]byte, 16)
			_, err = unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"keyctl"},
		In: map[string]change{asRoot: {
			Why:    "keys of host root have an owner without an id inside",
			Second: "ids: the key's owner has no id inside", SecondErrno: errnos(unix.EACCES),
		}},
	}
}
