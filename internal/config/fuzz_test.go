package config

import (
	"os"
	"testing"
)

// FuzzParse: no file makes the parser fail, whatever it reports stands inside
// the file, and what it accepts makes a request.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/contract.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, s := range []string{
		"", "a", "[a.b.c]\n[[a.b.d]]\nx=1", "a.b=1\na.c={d=[{}]}", "[[mounts]]\n[[mounts]]\nsource='~'\ntarget='~/x'", "x=[[[[]]]]",
		"[env]\nA='${B:-$}'", "\xef\xbb\xbfa=1", "a=\"\\x00\"", "base=[{image=1}]", "[base]\r\nimage='host'\r\n", "mounts=[{},1]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := &source{name: "coop.toml", dir: "/project"}
		root, problem := parse(file, data)
		if problem != nil {
			inside(t, data, *problem)
			return
		}
		c := Defaults()
		var ps problems
		decode(keys(), root, &c, &ps)
		for _, p := range ps.list {
			inside(t, data, p)
		}
		if len(ps.list) > 0 {
			return
		}
		c.root = merge(root, root, "", grows)
		c.Dir = "/project"
		c.Request()
		c.MountList()
		_ = c.Supported("")
		if _, err := c.Environ(func(string) (string, bool) { return "", true }, nil); err != nil {
			t.Error(err)
		}
		var d Daemon
		decode(daemonKeys(), root, &d, &ps)
	})
}

func inside(t *testing.T, data []byte, p Problem) {
	if p.Line < 0 || p.Column < 0 || p.Line > len(data)+1 || p.Column > len(data)+1 || p.Message == "" {
		t.Errorf("%+v", p)
	}
}
