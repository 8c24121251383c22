// Package base decides what a base is made of: which steps a configuration has,
// which commands each runs, and by which key its layer is found again. It runs
// nothing and touches no file.
//
// Invariant: a key says everything that decides a layer's content as far as we
// can know it: the image, all steps before, the step's own text and the format.
// What the network answered is not in it; that is what --no-cache is for.
package base

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// format is part of every key: raise it when the same text shall give another
// layer.
const format = 1

// Step is one layer of a base.
type Step struct {
	Text     string // what a person sees, and what the key is made of
	Commands []Command
}

// Command is one program of a step. Without Args it is for the shell.
type Command struct {
	Program string
	Args    []string
	Shell   bool
	Env     map[string]string
}

// Steps lists what a build does, in order.
func Steps(b *sandbox.Build) []Step {
	if b == nil {
		return nil
	}
	var list []Step
	for _, m := range b.Managers() {
		if len(m.Packages) > 0 {
			list = append(list, Step{m.Name + " install " + strings.Join(m.Packages, " "), install(m)})
		}
	}
	for _, text := range b.Run {
		list = append(list, Step{"run " + text, shell(text)})
	}
	if b.Install != "" {
		list = append(list, Step{"agent install " + b.Install, shell(b.Install)})
	}
	return list
}

func shell(text string) []Command { return []Command{{Program: text, Shell: true}} }

// install is what a package manager is told. Names were checked to be names and
// are arguments, so no shell reads them.
//
// apt drops its privileges to a user of its own for downloads and looks whether
// that worked: with one id it cannot, so it is told to stay root, which costs
// nothing in a sandbox.
func install(m sandbox.Manager) []Command {
	do := func(env map[string]string, argv ...string) Command {
		return Command{Program: argv[0], Args: argv[1:], Env: env}
	}
	with := func(argv ...string) []string { return append(argv, m.Packages...) }
	switch m.Name {
	case "apt":
		env := map[string]string{"DEBIAN_FRONTEND": "noninteractive"}
		return []Command{
			do(env, "apt-get", "-o", "APT::Sandbox::User=root", "update"),
			do(env, with("apt-get", "-o", "APT::Sandbox::User=root", "-o", "Dpkg::Use-Pty=0",
				"install", "-y", "--no-install-recommends", "--")...),
			do(env, "apt-get", "clean"),
			do(env, "find", "/var/lib/apt/lists", "-type", "f", "-delete"), // older with every day
		}
	case "apk":
		return []Command{do(nil, with("apk", "add", "--no-cache", "--")...)}
	case "dnf":
		return []Command{do(nil, with("dnf", "install", "-y", "--")...), do(nil, "dnf", "clean", "all")}
	case "npm":
		return []Command{do(nil, with("npm", "install", "-g", "--no-fund", "--no-audit", "--no-update-notifier", "--")...)}
	case "pip":
		// The base is nobody's but its sandboxes': what Debian protects its own
		// tools from is wanted here.
		env := map[string]string{"PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_ROOT_USER_ACTION": "ignore"}
		return []Command{do(env, with("python3", "-m", "pip", "install", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--")...)}
	}
	return nil
}

// Keys names the state after each step: Keys[0] the image itself, Keys[i] that
// image with i steps done. parent says which image.
func Keys(parent string, steps []Step) []string {
	keys := []string{hash("coop base", fmt.Sprint(format), parent)}
	for i, s := range steps {
		keys = append(keys, hash(keys[i], s.Text))
	}
	return keys
}

// LayerName is what the layer of a step is called. One that is built again has a
// mark of its own, because a layer is never changed.
func LayerName(key, parentLayer, mark string) string { return hash("layer", key, parentLayer, mark) }

// hash puts texts together so that no two lists give the same.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil))
}
