package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// site is the caller's own group in one mounted hierarchy.
type site struct {
	dir     string // where the caller's group is found
	top     string // the highest group of the hierarchy that can be seen
	problem string // why dir is of no use, or empty
}

// layout is where the caller stands in every hierarchy of interest.
type layout struct {
	unified *site
	v1      map[string]*site // by controller
}

// mount is one cgroup line of mountinfo.
type mount struct {
	root, point string
	version     int
	options     []string // super options; on v1 the controllers are among them
}

// readLayout reads the caller's place from proc, the mount point of procfs.
func readLayout(proc string) (layout, error) {
	groups, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return layout{}, nil // a kernel without cgroups
	}
	if err != nil {
		return layout{}, fmt.Errorf("read own cgroup: %w", err)
	}
	info, err := os.ReadFile(filepath.Join(proc, "self/mountinfo"))
	if err != nil {
		return layout{}, fmt.Errorf("read mounts: %w", err)
	}
	return combine(parseMembership(string(groups)), parseMounts(string(info))), nil
}

// combine finds for every membership the mount that shows it.
func combine(own map[string]string, mounts []mount) layout {
	l := layout{v1: map[string]*site{}}
	for _, m := range mounts {
		if m.version == 2 {
			if path, ok := own[""]; ok {
				l.unified = better(l.unified, locate(m, path))
			}
			continue
		}
		for _, controller := range []string{CPU, Memory, PIDs, freezer} {
			path, ok := own[controller]
			if ok && slices.Contains(m.options, controller) {
				l.v1[controller] = better(l.v1[controller], locate(m, path))
			}
		}
	}
	return l
}

// better keeps the usable one of two mounts of a hierarchy, and of two usable ones
// the later: it covers the earlier if both are at the same place.
func better(old, candidate *site) *site {
	if old != nil && old.problem == "" && candidate.problem != "" {
		return old
	}
	return candidate
}

// locate translates path, relative to the root of the cgroup namespace, into a
// directory below m. A container often sees only a part of the hierarchy.
func locate(m mount, path string) *site {
	s := &site{top: m.point}
	rel, err := filepath.Rel(m.root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		s.problem = fmt.Sprintf("own group %s is outside of what %s shows", path, m.point)
		return s
	}
	s.dir = filepath.Join(m.point, rel)
	if _, err := os.Stat(s.dir); err != nil {
		s.problem = fmt.Sprintf("own group %s is not visible: %v", path, err)
	}
	return s
}

// parseMembership reads /proc/self/cgroup into controller → path; the key of cgroup2
// is empty.
func parseMembership(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			own[controller] = parts[2]
		}
	}
	return own
}

// parseMounts picks the cgroup mounts out of mountinfo (proc_pid_mountinfo(5)).
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 3 {
			continue
		}
		m := mount{root: unescape(left[3]), point: unescape(left[4]), options: strings.Split(right[2], ",")}
		switch right[0] {
		case "cgroup":
			m.version = 1
		case "cgroup2":
			m.version = 2
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// unescape undoes mountinfo's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
