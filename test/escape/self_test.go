package escape

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// again starts this program as the attack's child and gives its verdict.
func again(sys *syscall.SysProcAttr, program string, env ...string) (verdict, error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envPart+"="+partChild)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = sys
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return verdict{}, err
	}
	v, ok := readVerdict(out.String())
	if !ok {
		return v, errors.New("no verdict of the child: " + out.String())
	}
	return v, nil
}

// fine is a child that has nothing to do.
func fine() error { return nil }
