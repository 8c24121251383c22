package fault

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

// envSmallDisk makes this program act as onSmallDisk on the directory it names.
const envSmallDisk = "COOP_FAULT_SMALL_DISK"

// onSmallDisk mounts what the first argument says on dir, in mount and user
// namespaces of its own, and becomes a shell that runs the second.
func onSmallDisk(dir string, args []string) int {
	if err := mountOn(dir, args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "small disk:", err)
		return 99
	}
	// What was needed for the mount must not make coop stronger than its user.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "small disk:", err)
		return 99
	}
	env := append(harness.Environ(filepath.Join(dir, "home")), "COOP="+os.Getenv("COOP"), "DISK="+dir)
	err := syscall.Exec("/bin/sh", []string{"sh", "-c", args[1]}, env)
	fmt.Fprintln(os.Stderr, "small disk:", err)
	return 99
}

func mountOn(dir, kind string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if kind == "overlay" {
		options := fmt.Sprintf("lowerdir=%[1]s/l,upperdir=%[1]s/u,workdir=%[1]s/w,userxattr", dir)
		for _, d := range []string{"l", "u", "w", "m"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
				return err
			}
		}
		return unix.Mount("overlay", filepath.Join(dir, "m"), "overlay", 0, options)
	}
	return unix.Mount("tmpfs", dir, "tmpfs", 0, kind)
}

// disk runs a script with $COOP on a disk of its own.
func disk(t *testing.T, kind, script string) harness.Result {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // overlay's work directory may refuse
	cmd := exec.CommandContext(within(t, 2*60e9), "/proc/self/exe", kind, script)
	cmd.Env = append(os.Environ(), envSmallDisk+"="+dir, "COOP="+harness.Bin())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_MKNOD}
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	r := harness.Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
	harness.Need(t, r.Code != 99, "mounts in a namespace of its own: "+r.Stderr)
	return r
}

// bye ends the daemon of a script, whose disk goes with it.
const bye = `
"$COOP" rm -f --all >/dev/null 2>&1
"$COOP" shutdown >/dev/null 2>&1
while [ -e "$COOP_HOME/daemon.sock" ] && "$COOP" -q status >/dev/null 2>&1; do :; done
`

// A full disk is told as such, in one line with a hint, and takes nothing along.
func TestFullDisk(t *testing.T) {
	r := disk(t, "size=20m,mode=0700", `
"$COOP" ls -q || exit 98
head -c 100m /dev/zero >"$DISK/filler" 2>/dev/null
"$COOP" create --mode none; echo "status $?"
"$COOP" run --mode none -- true; echo "status $?"
rm "$DISK/filler"
"$COOP" ls -aq; echo "left $(ls -A "$COOP_HOME/sandboxes" 2>/dev/null)"`+bye)
	if r.Code != 0 && r.Code != 1 {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.Stdout, "status 1\n") || !strings.Contains(r.Stdout, "status 125\n") || !strings.Contains(r.Stdout, "left \n") {
		t.Errorf("%s", r.Stdout)
	}
	wantComplaint(t, r.Stderr, "disk is full")
}

// So is one that is full before the first command.
func TestFullDiskFromTheStart(t *testing.T) {
	r := disk(t, "size=1m,mode=0700", `
mkdir "$COOP_HOME"; head -c 2m /dev/zero >"$DISK/filler" 2>/dev/null
"$COOP" ls; echo "status $?"
"$COOP" run --mode none -- true; echo "status $?"`+bye)
	if !strings.Contains(r.Stdout, "status 4\n") || !strings.Contains(r.Stdout, "status 125\n") {
		t.Errorf("%s", r.Stdout)
	}
	wantComplaint(t, r.Stderr, "disk is full")
}

// The disk fills while a sandbox writes: its programs are told, nobody else.
func TestDiskFillsFromInside(t *testing.T) {
	r := disk(t, "size=64m,mode=0700", `
id=$("$COOP" create --mode none) || exit 98
"$COOP" exec "$id" -- sh -c 'head -c 100m /dev/zero >/workspace/big'; echo "status $?"
"$COOP" exec "$id" -- sh -c 'rm /workspace/big; echo alive'
"$COOP" rm -f "$id"; echo "status $?"`+bye)
	if r.Code == 98 {
		t.Fatal(r.Stderr)
	}
	if !strings.Contains(r.Stdout, "status 1\nalive\nstatus 0\n") || !strings.Contains(r.Stderr, "No space left on device") {
		t.Errorf("%+v", r)
	}
}

// COOP_HOME on an overlay: sandboxes there cannot have an overlay of their own,
// and that is said with the way out.
func TestHomeOnOverlay(t *testing.T) {
	r := disk(t, "overlay", `
export COOP_HOME="$DISK/m/home"
"$COOP" -q doctor; echo "doctor $?"
"$COOP" run --mode none -- true; echo "status $?"`+bye)
	if !strings.Contains(r.Stdout, "doctor 1\n") || !strings.Contains(r.Stdout, "status 125\n") {
		t.Errorf("%+v", r)
	}
	wantComplaint(t, r.Stderr, "overlay")
}

// wantComplaint finds one line with a text and a hint after it.
func wantComplaint(t *testing.T, stderr, text string) {
	t.Helper()
	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "coop: ") && strings.Contains(line, text) {
			if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "hint: ") {
				t.Errorf("no hint after %q", line)
			}
			return
		}
	}
	t.Errorf("nothing about %q:\n%s", text, stderr)
}
