package caps_test

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/caps"
)

func TestNamesAndNumbers(t *testing.T) {
	for c := caps.Cap(0); c <= unix.CAP_LAST_CAP; c++ {
		if got, err := caps.Parse(c.String()); err != nil || got != c {
			t.Errorf("Parse(%q) = %d, %v; want %d", c, got, err, c)
		}
	}
	for name, want := range map[string]caps.Cap{
		"CAP_CHOWN":              unix.CAP_CHOWN,
		"sys_admin":              unix.CAP_SYS_ADMIN,
		"cap_checkpoint_restore": unix.CAP_CHECKPOINT_RESTORE,
	} {
		if got, err := caps.Parse(name); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"", "CAP_", "CAP_NONE", "CAP_CAP_CHOWN"} {
		if _, err := caps.Parse(name); !errors.Is(err, caps.ErrUnknown) {
			t.Errorf("Parse(%q): %v, want ErrUnknown", name, err)
		}
	}
	if got := caps.Cap(63).String(); got != "CAP_63" {
		t.Errorf("unknown number prints as %q", got)
	}
}

func TestProgramsIsThePublishedSet(t *testing.T) {
	const want = "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID " +
		"CAP_SETPCAP CAP_NET_BIND_SERVICE CAP_SYS_CHROOT CAP_AUDIT_WRITE CAP_SETFCAP"
	if got := caps.Programs.String(); got != want {
		t.Errorf("Programs is\n%s\nwant\n%s", got, want)
	}
	if got := caps.Set(0).String(); got != "none" {
		t.Errorf("empty set prints as %q", got)
	}
}

func TestParseStatus(t *testing.T) {
	const status = "Name:\tbash\nCapInh:\t0000000000000001\nCapPrm:\t000001ffffffffff\n" +
		"CapEff:\t0000000000000002\nCapBnd:\t00000000a80425fb\nCapAmb:\t0000000000000000\nSeccomp:\t2\n"
	want := caps.State{Inheritable: 1, Permitted: 0x1ffffffffff, Effective: 2, Bounding: 0xa80425fb}
	if got, err := caps.ParseStatus(status); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "CapInh:\t0\n", "CapInh:\tx\n"} {
		if _, err := caps.ParseStatus(bad); err == nil {
			t.Errorf("ParseStatus(%q): no error", bad)
		}
	}
}

// onThread runs f on a thread of its own, which ends with f: a goroutine that
// returns without unlocking takes its thread, and the lost capabilities, along.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

func TestApply(t *testing.T) {
	before := readSelf(t)
	if !before.Effective.Has(unix.CAP_SETPCAP) {
		t.Skip("needs CAP_SETPCAP")
	}
	onThread(func() {
		if err := caps.Apply(caps.Programs); err != nil {
			t.Error(err)
			return
		}
		want := before
		want.Inheritable, want.Ambient, want.Bounding = 0, 0, before.Bounding&caps.Programs
		if got := readSelf(t); got != want {
			t.Errorf("after Apply %+v, want %+v", got, want)
		}
		if err := caps.DropPermitted(caps.Of(unix.CAP_KILL)); err != nil {
			t.Error(err)
			return
		}
		if got := readSelf(t); got.Permitted != caps.Of(unix.CAP_KILL) || got.Effective != got.Permitted {
			t.Errorf("after DropPermitted %+v", got)
		}
		if err := caps.DropBounding(0); !errors.Is(err, unix.EPERM) {
			t.Errorf("DropBounding without CAP_SETPCAP: %v, want EPERM", err)
		}
		if err := caps.Apply(caps.Programs); err != nil {
			t.Errorf("Apply with nothing left to drop: %v", err)
		}
	})
	if after := readSelf(t); after != before {
		t.Errorf("another thread changed: %+v, before %+v", after, before)
	}
}

func readSelf(t *testing.T) caps.State {
	t.Helper()
	s, err := caps.ReadSelf()
	if err != nil {
		t.Error(err)
	}
	return s
}
