package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestLeavesGroupToHandDown proves the no-internal-process rule on the real cgroup2 of
// a hybrid host, whose only controller there is hugetlb: a process alone in its group
// moves to a leaf, and then the controller can be handed down.
func TestLeavesGroupToHandDown(t *testing.T) {
	p := testParent(t, nil)
	if !p.v2 || !listed(p.anchor, "cgroup.controllers", "hugetlb") && handDownHugetlb(t, p) != nil {
		t.Skip("no spare controller on cgroup2")
	}
	g := testGroup(t, p, Limits{})
	cmd := exec.Command("/proc/self/exe", "__child", "hand-down")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.anchor.Fd())}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !listed(g.anchor, "cgroup.subtree_control", "hugetlb") {
		t.Error("hugetlb is not handed down")
	}
}

// handDownHugetlb makes the controller available to the groups beneath p, if the
// hierarchy above already does so or is the root.
func handDownHugetlb(t *testing.T, p *Parent) error {
	t.Helper()
	top, err := openPath(p.host.Path)
	if err != nil {
		return err
	}
	defer top.Close()
	if !listed(top, "cgroup.controllers", "hugetlb") {
		return os.ErrNotExist
	}
	had := listed(top, "cgroup.subtree_control", "hugetlb")
	if refused := handDown(top, []string{"hugetlb"}); len(refused) > 0 {
		return fmt.Errorf("%v", refused)
	}
	if !had {
		t.Cleanup(func() { restoreHugetlb(t, p.host.Path) })
	}
	if refused := handDown(p.anchor, []string{"hugetlb"}); len(refused) > 0 {
		return fmt.Errorf("%v", refused)
	}
	t.Cleanup(func() { _ = writeControl(p.anchor, "cgroup.subtree_control", "-hugetlb") })
	return nil
}

func restoreHugetlb(t *testing.T, path string) {
	top, err := openPath(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer top.Close()
	if err := writeControl(top, "cgroup.subtree_control", "-hugetlb"); err != nil {
		t.Error(err)
	}
}

// childHandDown runs inside the group.
func childHandDown() int {
	l, err := readLayout("/proc")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	dir, err := openPath(l.unified.dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if refused := handDown(dir, []string{"hugetlb"}); len(refused) == 0 {
		fmt.Println("handed down from a group with a process in it")
		return 1
	}
	p := place{path: l.unified.dir, withheld: map[string]string{}}
	p.consider(dir, "hugetlb", os.Getpid())
	if !p.leave {
		fmt.Printf("place %+v\n", p)
		return 1
	}
	if refused := p.open(dir, "coop"); len(refused) != 0 {
		fmt.Println(refused)
		return 1
	}
	return 0
}
