package initproto

import (
	"path"
	"strings"
)

// What follows decides how a program is found and what it knows of its user. PID
// 1 and the daemon both start programs, and must not differ in it.

// ProgramFiles lists where a program may be, in order: a name with a slash as it
// is, any other in the PATH of its own environment. Relative paths are relative
// to dir, which is the working directory.
func ProgramFiles(name, dir string, env []string) []string {
	switch {
	case name == "":
		return nil
	case path.IsAbs(name):
		return []string{name}
	case strings.Contains(name, "/"):
		return []string{path.Join(dir, name)}
	}
	var files []string
	for _, d := range strings.Split(EnvValue(env, "PATH"), ":") {
		if d == "" {
			d = dir
		}
		files = append(files, path.Join(d, name))
	}
	return files
}

// EnvValue is what a variable is set to, "" if it is not.
func EnvValue(env []string, key string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// WithHome adds what every program expects to know of its user.
func WithHome(env []string, home, name string) []string {
	for _, kv := range [][2]string{{"HOME", home}, {"USER", name}, {"LOGNAME", name}} {
		if EnvValue(env, kv[0]) == "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	return env
}
