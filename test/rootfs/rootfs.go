// Package rootfs makes small root filesystems out of programs of this host, for
// tests and the demo: a shell and some tools with the libraries they need. So
// nothing has to be downloaded or installed to try out images.
package rootfs

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tools are what a script usually calls.
func Tools() []string {
	return []string{
		"sh", "ls", "cat", "touch", "chown", "chmod", "stat", "mkdir", "rm", "mv", "cp", "ln", "id", "sleep",
		"true", "false", "env", "head", "tail", "wc", "grep", "sed", "sort", "hostname", "uname", "date", "mknod", "mkfifo", "readlink",
	}
}

// Write writes a root filesystem as a tar archive: the programs in /bin, and
// files by their path inside, executable ones as they are on this host.
func Write(w io.Writer, programs []string, files map[string]string) error {
	p := &packer{tar: tar.NewWriter(w), done: map[string]bool{}}
	for _, dir := range []string{"bin", "etc", "root", "tmp", "var", "usr", "home"} {
		p.dir(dir)
	}
	p.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
	p.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
	for _, name := range programs {
		p.program(name)
	}
	for _, inside := range sorted(files) {
		p.file(strings.TrimPrefix(inside, "/"), files[inside])
	}
	return errors.Join(p.err, p.tar.Close())
}

func sorted(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// packer remembers what is in the archive, and the first error.
type packer struct {
	tar  *tar.Writer
	done map[string]bool
	err  error
}

func (p *packer) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *packer) header(h *tar.Header) bool {
	if p.err != nil || p.done[h.Name] {
		return false
	}
	p.done[h.Name] = true
	if err := p.tar.WriteHeader(h); err != nil {
		p.fail(err)
		return false
	}
	return true
}

func (p *packer) dir(name string) {
	if name == "." || name == "" || p.done[name+"/"] {
		return
	}
	p.dir(path.Dir(name))
	p.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
}

func (p *packer) text(name, text string) {
	if p.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}) {
		_, err := io.WriteString(p.tar, text)
		p.fail(err)
	}
}

// program adds a program of the host. One that the host lacks is left out: who
// needs it will say so.
func (p *packer) program(name string) {
	file, err := exec.LookPath(name)
	if err != nil {
		return
	}
	p.file("bin/"+name, file)
}

// file adds a file of the host, and what the loader needs to start it.
func (p *packer) file(inside, file string) {
	if p.err != nil || p.done[inside] {
		return
	}
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		p.fail(err)
		return
	}
	f, err := os.Open(file)
	if err != nil {
		p.fail(err)
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		p.fail(err)
		return
	}
	p.dir(path.Dir(inside))
	if p.header(&tar.Header{Typeflag: tar.TypeReg, Name: inside, Mode: int64(st.Mode().Perm() | 0o444), Size: st.Size()}) {
		_, err := io.Copy(p.tar, f)
		p.fail(err)
	}
	p.needs(f)
}

// needs adds the loader and the libraries of a program.
func (p *packer) needs(f *os.File) {
	e, err := elf.NewFile(f)
	if err != nil {
		return // a script, or no program at all
	}
	for _, prog := range e.Progs {
		if prog.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(prog.Open(), 4096))
		if err != nil {
			p.fail(err)
			return
		}
		loader := strings.TrimRight(string(b), "\x00")
		p.file(strings.TrimPrefix(loader, "/"), loader)
	}
	libs, err := e.ImportedLibraries()
	if err != nil {
		return // a static program has none
	}
	for _, lib := range libs {
		p.library(lib, e.Class)
	}
}

// library adds a library from where loaders look without being told.
func (p *packer) library(name string, class elf.Class) {
	var dirs []string
	for _, pattern := range []string{"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		found, _ := filepath.Glob(pattern) // the patterns are good
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if e, err := elf.Open(file); err == nil {
			same := e.Class == class
			e.Close()
			if same {
				p.file(strings.TrimPrefix(file, "/"), file)
				return
			}
		}
	}
	p.fail(fmt.Errorf("library %s is not where loaders look", name))
}
