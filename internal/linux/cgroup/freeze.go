package cgroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Freeze stops every process of the group and returns when they all stand still. When
// ctx ends first, the group may be frozen in part: thaw it.
func (g *Group) Freeze(ctx context.Context) error {
	if err := g.freeze(ctx); err != nil {
		return fmt.Errorf("freeze group %s: %w", g.state.ID, err)
	}
	return nil
}

func (g *Group) freeze(ctx context.Context) error {
	if g.state.Unified {
		if err := writeControl(g.anchor, "cgroup.freeze", "1"); err != nil {
			return err
		}
		return waitEvent(ctx, g.anchor, "frozen", 1)
	}
	for {
		// On v1 a task that forked in the meantime leaves the state at FREEZING until
		// somebody writes again (freezer-subsystem.rst); nothing announces it.
		if err := writeControl(g.anchor, "freezer.state", "FROZEN"); err != nil {
			return err
		}
		state, err := readControl(g.anchor, "freezer.state")
		if err != nil {
			return err
		}
		if strings.TrimSpace(state) == "FROZEN" {
			return nil
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// Thaw lets the group run on; one that is gone or not frozen is no error.
func (g *Group) Thaw() error {
	file, value := "freezer.state", "THAWED"
	if g.state.Unified {
		file, value = "cgroup.freeze", "0"
	}
	err := writeControl(g.anchor, file, value)
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("thaw group %s: %w", g.state.ID, err)
	}
	return nil
}
