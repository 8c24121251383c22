package config

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// said is what a person reads about a file.
func said(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{Name: text})
	_, err := Load(Options{Dir: dir, Home: "/nowhere", UserDir: "/nowhere", UID: os.Getuid()})
	var bad *Error
	if err == nil {
		return ""
	}
	if !errors.As(err, &bad) {
		t.Fatalf("%T %v", err, err)
	}
	var b strings.Builder
	for _, p := range bad.Problems {
		p.File = strings.TrimPrefix(p.File, dir+"/")
		b.WriteString(p.String() + "\n")
		if p.Hint != "" {
			b.WriteString("  " + p.Hint + "\n")
		}
	}
	return b.String()
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", ""},
		{"a comment", "# nothing\n", ""},

		{"unknown key", "[base]\nimge = \"host\"\n", "coop.toml:2:1: unknown key \"base.imge\"\n  did you mean base.image?\n"},
		{"key of another table", "[agent]\nmemory = \"4GiB\"\n", "coop.toml:2:1: unknown key \"agent.memory\"\n  did you mean limits.memory?\n"},
		{"key without its table", "\n  image = \"host\"\n", "coop.toml:2:3: unknown key \"image\"\n  did you mean base.image?\n"},
		{"unknown table", "[limit]\ncpu = 2\nmemory = 5\n", "coop.toml:1:2: unknown key \"limit\"\n  did you mean limits?\n"},
		{"far from anything", "[base]\nzzzzzzzz = 1\n", "coop.toml:2:1: unknown key \"base.zzzzzzzz\"\n  known in [base] are image\n"},
		{"dotted", "base.imagee = \"host\"\n", "coop.toml:1:6: unknown key \"base.imagee\"\n  did you mean base.image?\n"},
		{"inline", "base = { image = \"host\", imag = 1 }\n", "coop.toml:1:26: unknown key \"base.imag\"\n  did you mean base.image?\n"},
		{"in a mount", "[[mounts]]\nsource = \"/a\"\ntarget = \"/b\"\nwrites = true\n", "coop.toml:4:1: unknown key \"mounts[0].writes\"\n  did you mean write?\n"},
		{"quoted, with escapes", "\"a\\u001bb\" = 1\n", "coop.toml:1:1: unknown key \"a\\x1bb\"\n  known are base, packages, setup, agent, workspace, env, network, session, mounts, limits, security, terminal, review, driver, cache\n"},

		{"number for a string", "[base]\nimage = 12\n", "coop.toml:2:9: base.image must be a string, not a whole number\n  put it in quotes\n"},
		{"string for a truth", "[workspace]\nrepo = \"yes\"\n", "coop.toml:2:8: workspace.repo must be true or false, not a string\n  without quotes\n"},
		{"string for a list", "[setup]\nrun =   \"make\"\n", "coop.toml:2:9: setup.run must be a list of strings, not a string\n  write it as [\"…\", \"…\"]\n"},
		{"list for a string", "[base]\nimage = [\"host\"]\n", "coop.toml:2:9: base.image must be a string, not a list\n  put it in quotes\n"},
		{"number in a list", "[setup]\nrun = [\n  \"make\",\n  5,\n]\n", "coop.toml:4:3: setup.run[1] must be a string, not a whole number\n  put it in quotes\n"},
		{"value for a table", "base = \"host\"\n", "coop.toml:1:8: base must be a table, not a string\n  write [base], and its keys below it\n"},
		{"table for a value", "[base.image]\nx = 1\n", "coop.toml:1:7: base.image must be a string, not a table\n  put it in quotes\n"},
		{"single mount", "[mounts]\nsource = \"/a\"\n", "coop.toml:1:2: mounts must be a list of tables, not a table\n  write [[mounts]] for each of them\n"},
		{"mount that is none", "mounts = [1]\n", "coop.toml:1:11: mounts[0] must be a table, not a whole number\n  write [[mounts]] for each of them\n"},
		{"half a mount", "[[mounts]]\nsource = \"/a\"\n", "coop.toml:1:3: mounts[0] has no target\n  a mount needs source and target\n"},
		{"fraction of a process", "[limits]\npids = 1.5\n", "coop.toml:2:8: limits.pids must be a whole number, not a number\n  without quotes, such as 1024\n"},
		{"date", "[limits]\ncpu = 1979-05-27\n", "coop.toml:2:7: limits.cpu must be a number, not a date or time\n  without quotes, such as 2 or 0.5\n"},
		{"env that is a number", "[env]\nA = 1\n", "coop.toml:2:5: env.A must be a string, not a whole number\n  put it in quotes\n"},
		{"env that is a table", "[env.A]\nB = \"c\"\n", "coop.toml:1:6: env.A must be a string, not a table\n  put it in quotes\n"},

		{"size", "[limits]\nmemory = \"lots\"\n", "coop.toml:2:10: limits.memory: \"lots\" is not a size\n  write it as \"512MiB\", \"4GiB\" or as a number of bytes\n"},
		{"too small", "[limits]\nmemory = 5\n", "coop.toml:2:10: limits.memory: 5 is below 8MiB\n"},
		{"negative size", "[limits]\ndisk = -5\n", "coop.toml:2:8: limits.disk: -5 is not a size\n  write it as \"512MiB\", \"4GiB\" or as a number of bytes\n"},
		{"cpu", "[limits]\ncpu = -1.0\n", "coop.toml:2:7: limits.cpu: -1 is below 0.01\n"},
		{"cpu is no number", "[limits]\ncpu = nan\n", "coop.toml:2:7: limits.cpu: NaN is below 0.01\n"},
		{"pids", "[limits]\npids = 3\n", "coop.toml:2:8: limits.pids: 3 is not between 16 and 4194304\n"},
		{"duration", "[session]\nttl = \"soon\"\n", "coop.toml:2:7: session.ttl: \"soon\" is not a duration\n  write it as \"500ms\", \"30s\", \"4h\"; \"0\" is none\n"},
		{"duration without a unit", "[session]\nttl = 24\n", "coop.toml:2:7: session.ttl must be a duration, not a whole number\n  write it as \"500ms\", \"30s\", \"4h\"; \"0\" is none\n"},
		{"negative duration", "[session]\nttl = \"-1s\"\n", "coop.toml:2:7: session.ttl: \"-1s\" is not a duration\n  write it as \"500ms\", \"30s\", \"4h\"; \"0\" is none\n"},
		{"mode", "[workspace]\nmode = \"overly\"\n", "coop.toml:2:8: workspace.mode: unknown value \"overly\"\n  did you mean overlay? one of overlay, bind, clone, volume, none\n"},
		{"network", "[network]\nmode = \"carrier-pigeon\"\n", "coop.toml:2:8: network.mode: unknown value \"carrier-pigeon\"\n  one of veth, bridge, host, none\n"},
		{"detach key", "[terminal]\ndetach_key = \"ctrl-m\"\n", "coop.toml:2:14: terminal.detach_key: \"ctrl-m\" is not a key\n  \"ctrl-\" and a letter or one of ] \\ ^ _ (not h, i, j, m and [, which are Backspace, Tab, Enter and Esc); several as \"ctrl-p,ctrl-q\"; or \"none\"\n"},
		{"block", "[terminal]\nblock = ['\\x04']\n", "coop.toml:2:10: terminal.block[0]: \"\\\\x04\" holds a backslash and an x, not a control character\n  write it in double quotes: \"\\x04\"\n"},
		{"glob", "[review]\ndeny = [\"ok/**\", \"[\"]\n", "coop.toml:2:18: review.deny[1]: \"[\" is not a pattern\n  relative to the project, such as .github/**\n"},
		{"glob that leaves", "[review]\nflag = [\"../x\"]\n", "coop.toml:2:9: review.flag[0]: \"../x\" is not a pattern\n  relative to the project, such as .github/**\n"},
		{"message", "[review]\ncommit_message = \"{{.Nobody}}\"\n", "coop.toml:2:18: review.commit_message: \"{{.Nobody}}\" is not a message\n  {{.Sandbox}} and {{.Files}} are known\n"},
		{"user", "[agent]\nuser = \"no spaces\"\n", "coop.toml:2:8: agent.user: \"no spaces\" is not a user\n  a name, a uid or uid:gid\n"},
		{"variable", "[env]\n\"A-B\" = \"c\"\n", "coop.toml:2:1: env: \"A-B\" is no name of a variable\n  letters, digits and _, not beginning with a digit\n"},
		{"dollar", "[env]\nA = \"5$ a day\"\n", "coop.toml:2:5: env.A: a $ that names no variable\n  $NAME, ${NAME} and ${NAME:-default} come from the host; $$ is a dollar sign\n"},
		{"brace", "[env]\nA = \"${B\"\n", "coop.toml:2:5: env.A: a $ that names no variable\n  $NAME, ${NAME} and ${NAME:-default} come from the host; $$ is a dollar sign\n"},
		{"mount's target", "[[mounts]]\nsource = \"/a\"\ntarget = \"b\"\n", "coop.toml:3:10: mounts[0].target: \"b\" is not a clean path inside\n  such as /data or ~/data\n"},
		{"mount's source", "[[mounts]]\nsource = \"My Volume\"\ntarget = \"/b\"\n", "coop.toml:2:10: mounts[0].source: \"My Volume\" is neither a path nor the name of a volume\n  a path has a slash; a volume's name is 1 to 63 of a-z, 0-9 and -\n"},
		{"another's home", "[[mounts]]\nsource = \"~root/x\"\ntarget = \"/b\"\n", "coop.toml:2:10: mounts[0].source: \"~root/x\": the homes of others are not known\n  ~/… is a path in the home\n"},
		{"persist", "[session]\npersist = [\"/etc\"]\n", "coop.toml:2:12: session.persist[0]: \"/etc\" is not a path below the home\n  such as .claude or .config/gh\n"},
		{"persist above", "[session]\npersist = [\"../x\"]\n", "coop.toml:2:12: session.persist[0]: \"../x\" is not a path below the home\n  such as .claude or .config/gh\n"},
		{"tilde elsewhere", "[workspace]\nsource = \"~/x\"\n", "coop.toml:2:10: workspace.source: ~ stands for the home in mounts only\n  write the whole path\n"},
		{"image", "[base]\nimage = \"oci:\"\n", "coop.toml:2:9: base.image: \"oci:\" is not an image\n  \"host\", an OCI reference such as \"debian:12\", \"oci:DIR\" or \"tar:FILE\"\n"},
		{"package like an option", "[packages]\napt = [\"-o\"]\n", "coop.toml:2:8: packages.apt[0]: \"-o\" is not the name of a package\n"},
		{"empty command", "[agent]\ncommand = \" \"\n", "coop.toml:2:11: agent.command: is empty\n"},
		{"scrollback", "[terminal]\nscrollback = \"2GiB\"\n", "coop.toml:2:14: terminal.scrollback: 2GiB is not between 4KiB and 1GiB\n"},

		{"columns are characters", "[env]\nA = \"ä\" # ö\n\"é\" = \"x\"\n[base]\n\timage = 5\n", "coop.toml:3:1: env: \"é\" is no name of a variable\n  letters, digits and _, not beginning with a digit\ncoop.toml:5:10: base.image must be a string, not a whole number\n  put it in quotes\n"},
		{"all at once", "[limits]\ncpu = \"2\"\nmemry = 1\n[base]\nimage = 5\n[lmits]\n", "coop.toml:2:7: limits.cpu must be a number, not a string\n  without quotes, such as 2 or 0.5\ncoop.toml:3:1: unknown key \"limits.memry\"\n  did you mean limits.memory?\ncoop.toml:5:9: base.image must be a string, not a whole number\n  put it in quotes\ncoop.toml:6:2: unknown key \"lmits\"\n  did you mean limits?\n"},

		{"no TOML", "[base\n", "coop.toml:1:6: expected ']' to close table name\n"},
		{"twice", "[base]\nimage = \"host\"\nimage = \"host\"\n", "coop.toml:3:1: key image is already defined\n"},
		{"table twice", "[base]\n[env]\n[base]\n", "coop.toml:3:2: table base already exists\n"},
		{"not UTF-8", "[base]\nimage = \"\xff\"\n", "coop.toml:1:1: the file is not UTF-8\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(t, c.file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file full of mistakes fits on a screen.
func TestManyErrors(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(said(t, "[env]\n"+strings.Repeat("\"\u00e9\"=1\n", 1)+manyUnknown(50))), "\n")
	if got := lines[len(lines)-1]; got != "coop.toml: 31 more mistakes" {
		t.Errorf("%q", got)
	}
}

func manyUnknown(n int) string {
	var b strings.Builder
	b.WriteString("[base]\n")
	for i := range n {
		b.WriteString(strings.Repeat("q", i+3) + " = 1\n")
	}
	return b.String()
}

// A large file takes no time worth mentioning, on one line or on many.
func TestLargeFiles(t *testing.T) {
	for _, text := range []string{
		"[setup]\nrun = [" + strings.Repeat("1,", 200_000) + "]\n",
		"[setup]\nrun = [" + strings.Repeat("\n\"x\",", 150_000) + "]\n",
		"[base]\n" + manyUnknown(1000),
		"x = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		strings.Repeat("a.", 5000) + "a = 1\n",
	} {
		begun := time.Now()
		said(t, text)
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%.20q… took %v", text, took)
		}
	}
}

// Legal values that look odd.
func TestLegal(t *testing.T) {
	for _, text := range []string{
		"[limits]\ncpu = 2\nmemory = 1_073_741_824\npids = 0x10_0\ndisk = \"1.5GB\"\nexec_timeout = 0\n",
		"[session]\nttl = \"0\"\nidle_timeout = 0\n",
		"[agent]\nuser = \"1000:1000\"\n",
		"[terminal]\ndetach_key = \"Ctrl-B\"\nblock = [\"\\x04\", \"\\u001b[\"]\n",
		"[env]\nA = \"$$5 ${B:-${ x}\"\nB = \"$A_$C1x\"\n",
		"[base]\nimage = \"registry.example.com:5000/a/b@sha256:00\"\n",
		"[base]\nimage = \"oci:./my image\"\n",
		"mounts = [{source = \"data\", target = \"/data\"}, {source = \"./x\", target = \"~/x\", write = true}]\n",
		"[review]\nflag = [\"package.json#scripts\", \"**/*.sh\"]\n",
		"base.image = \"host\"\nlimits = {cpu = 1}\n",
		"[packages]\nnpm = [\"@scope/name@1.2\"]\npip = [\"a>=1,<2\"]\n",
	} {
		if s := said(t, text); s != "" {
			t.Errorf("%s\n%s", text, s)
		}
	}
}
