package review

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// refreshIndex brings the committed paths in the person's index up to date, so
// that they do not look staged backwards; a path with something of theirs staged
// stays as it is.
func (j *commitJob) refreshIndex(ctx context.Context) error {
	g := j.git
	g.tree = j.repo
	const atOnce = 500 // paths are arguments
	for len(j.paths) > 0 {
		n := min(len(j.paths), atOnce)
		if err := j.refresh(ctx, g, j.paths[:n]); err != nil {
			return err
		}
		j.paths = j.paths[n:]
	}
	return nil
}

func (j *commitJob) refresh(ctx context.Context, g git, paths []string) error {
	was := map[string]string{}
	if j.old != "" {
		out, err := g.run(ctx, nil, append([]string{"ls-tree", "-r", "-z", "--full-tree", j.old, "--"}, paths...)...)
		if err != nil {
			return err
		}
		was = treeEntries(out)
	}
	out, err := g.run(ctx, nil, append([]string{"ls-tree", "-r", "-z", "--full-tree", j.new, "--"}, paths...)...)
	if err != nil {
		return err
	}
	is := treeEntries(out)
	if out, err = g.run(ctx, nil, append([]string{"ls-files", "-s", "-z", "--"}, paths...)...); err != nil {
		return err
	}
	staged := indexEntries(out)
	var in bytes.Buffer
	for p := range union(was, is, staged) {
		switch {
		case staged[p] != was[p]: // the person's own work
		case is[p] == "":
			fmt.Fprintf(&in, "0 %s 0\t%s\x00", strings.Repeat("0", len(j.new)), p)
		default:
			fmt.Fprintf(&in, "%s 0\t%s\x00", is[p], p)
		}
	}
	if in.Len() == 0 {
		return nil
	}
	_, err = g.run(ctx, &in, "update-index", "-z", "--index-info")
	return err
}

// treeEntries reads "mode type hash\tpath" of ls-tree -z as path → "mode hash".
func treeEntries(out []byte) map[string]string {
	all := map[string]string{}
	for _, line := range strings.Split(string(out), "\x00") {
		head, p, ok := strings.Cut(line, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			all[p] = f[0] + " " + f[2]
		}
	}
	return all
}

// indexEntries reads "mode hash stage\tpath" of ls-files -s -z.
func indexEntries(out []byte) map[string]string {
	all := map[string]string{}
	for _, line := range strings.Split(string(out), "\x00") {
		head, p, ok := strings.Cut(line, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			all[p] = f[0] + " " + f[1]
		}
	}
	return all
}

func union(maps ...map[string]string) map[string]bool {
	all := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			all[k] = true
		}
	}
	return all
}
