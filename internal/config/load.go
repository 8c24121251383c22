package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/coop-dev/coop/api"
)

// Name is what a project's file is called.
const Name = "coop.toml"

// Options say where to look.
type Options struct {
	Dir     string // the current directory, absolute
	Home    string // the person's home; may be empty
	UserDir string // see UserDir; may be empty
	File    string // --config: this file and no search
	UID     int    // whose files count
}

// Load reads all layers.
func Load(o Options) (*Config, error) {
	l := loader{Options: o, dir: o.Dir}
	if err := l.find(); err != nil {
		return nil, err
	}
	l.add(l.user)
	l.add(l.project)
	if err := l.ps.err(); err != nil {
		return nil, err
	}
	c := Defaults()
	c.Dir, c.Files, c.Ignored, c.home = l.dir, l.files, l.ignored, o.Home
	c.root = newTable(place{file: &source{}})
	for _, layer := range l.layers {
		c.root = merge(c.root, layer, "", grows)
	}
	decode(keys(), c.root, &c, &l.ps) // the layers have passed; nothing is left to report
	if c.Network.Mode == "bridge" {
		c.Network.Mode = "veth"
	}
	c.needHome(&l.ps)
	return &c, l.ps.err()
}

// document is a file that was read and not yet parsed.
type document struct {
	file *source
	data []byte
}

type loader struct {
	Options
	dir           string
	user, project *document
	files         []string
	ignored       []Ignored
	layers        []*node
	ps            problems
}

// find reads default.toml and the project's file, which decides what the
// project's directory is.
func (l *loader) find() (err error) {
	if l.project, err = l.projectFile(); err != nil {
		return err
	}
	if l.project != nil && l.File == "" {
		l.dir = l.project.file.dir
	}
	if l.UserDir == "" {
		return nil
	}
	l.user, err = l.found(filepath.Join(l.UserDir, "default.toml"))
	if l.user != nil {
		l.user.file.dir = l.dir // it is about every project: about this one now
	}
	return err
}

func (l *loader) projectFile() (*document, error) {
	if l.File == "" {
		return l.search()
	}
	name := l.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(l.Dir, name)
	}
	data, err := readAny(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return &document{&source{name: name, dir: filepath.Dir(name)}, data}, nil
}

// search looks for coop.toml in the current directory and those above it. A
// home directory and / are no projects: a file there counts only for who stands
// there, and nothing above a home is looked at.
func (l *loader) search() (*document, error) {
	for dir := l.Dir; ; dir = filepath.Dir(dir) {
		top := dir == filepath.Dir(dir)
		if (top || dir == l.Home) && dir != l.Dir {
			return nil, nil
		}
		d, err := l.found(filepath.Join(dir, Name))
		if d != nil || err != nil || top || dir == l.Home {
			return d, err
		}
	}
}

// found reads a file that nobody named. One of another user is not read, and
// does not stop those that are ours: else whoever can write to /tmp could keep
// everybody in it from working.
func (l *loader) found(name string) (*document, error) {
	data, err := readOwned(name, l.UID)
	var foreign *errForeign
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a home such as /dev/null
		return nil, nil
	case errors.As(err, &foreign):
		l.ignored = append(l.ignored, Ignored{name, err.Error(), "if you trust it, name it: --config " + name})
		return nil, nil
	case err != nil:
		return nil, unreadable(name, err)
	}
	return &document{&source{name: name, dir: filepath.Dir(name)}, data}, nil
}

func unreadable(name string, err error) error {
	return &Error{api.CodeInvalid, []Problem{{File: name, Message: cause(err).Error()}}}
}

// add parses a layer and checks it by itself, so that a mistake is reported
// even where a higher layer replaces the value.
func (l *loader) add(d *document) {
	if d == nil {
		return
	}
	l.files = append(l.files, d.file.name)
	root, problem := parse(d.file, d.data)
	if problem != nil {
		l.ps.list = append(l.ps.list, *problem)
		return
	}
	var scratch Config
	decode(keys(), root, &scratch, &l.ps)
	l.layers = append(l.layers, root)
}
