package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Starter is the coop.toml that `coop init` writes: what is sure is set, what a
// person may want is a comment that becomes true by taking the # away. It says
// nothing that this version would refuse.
func Starter(f Found, home string) []byte {
	var b strings.Builder
	b.WriteString(starterHead)
	starterAgent(&b, f.Agent, home)
	b.WriteString(starterWorkspace)
	starterEnv(&b, f.Agent)
	b.WriteString(starterBase)
	b.WriteString(starterLimits)
	starterLater(&b, f)
	return []byte(b.String())
}

const starterHead = `# coop.toml: how the sandboxes of this project are made.
# docs/coop-toml.md of Coop has every key. What is not set here comes from
# ~/.config/coop/default.toml, or is built in.

[base]
image = "host"              # this machine's own system, copy-on-write

`

const starterWorkspace = `
[workspace]
mode = "overlay"            # the project stays as it is until changes are approved
# path = "/workspace"       # where it is seen inside
# repo = false              # do not show the original at /repo
`

const starterBase = `
# [packages]                # coop rebuild installs them; apt, apk and dnf need an image
# npm = []
# pip = []
# [setup]                   # coop rebuild runs these, as root and without the project's files
# run = []
`

const starterLimits = `
[network]
# mode = "host"             # the default reaches nothing; host is this machine's own network

# [limits]                  # a limit that is set and cannot be enforced fails
# cpu = 2.0
# memory = "4GiB"
# exec_timeout = "10m"

# [terminal]
# detach_key = "ctrl-]"
`

func starterAgent(b *strings.Builder, agent *Program, home string) {
	b.WriteString("[agent]                     # terminal 0; without a command it is a login shell\n")
	switch {
	case agent == nil:
		b.WriteString("# command = \"claude\"\n# args = []\n# user = \"root\"\n")
	case agent.Visible:
		fmt.Fprintf(b, "command = %s\n# args = []\n# user = \"root\"\n", quote(command(agent.Path)))
	default:
		fmt.Fprintf(b, "# %s is at %s,\n# which a sandbox does not see. Once mounts are there:\n", agent.Name, quote(shownIn(home, agent.Path)))
		fmt.Fprintf(b, "# command = %s\n# user = \"root\"\n# [[mounts]]\n", quote("/usr/local/bin/"+agent.Name))
		fmt.Fprintf(b, "# source = %s\n# target = %s\n", quote(shownIn(home, agent.Path)), quote("/usr/local/bin/"+agent.Name))
	}
}

// command is a bare name where the sandbox's PATH finds it.
func command(file string) string {
	if slices.Contains([]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}, filepath.Dir(file)) {
		return filepath.Base(file)
	}
	return file
}

// shownIn writes a path below the home with a ~.
func shownIn(home, file string) string {
	if rest, ok := strings.CutPrefix(file, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return file
}

func starterEnv(b *strings.Builder, agent *Program) {
	key := "ANTHROPIC_API_KEY"
	if agent != nil {
		key = agent.Key
	}
	fmt.Fprintf(b, "\n[env]                       # $NAME is taken from the environment that coop runs in\n# %s = \"$%s\"\n", key, key)
}

// starterLater are suggestions whose features this version refuses to promise.
func starterLater(b *strings.Builder, f Found) {
	var check, caches []string
	for _, k := range f.Languages {
		for _, w := range []struct {
			text string
			list *[]string
		}{{k.Check, &check}, {k.Caches, &caches}} {
			if w.text != "" {
				*w.list = append(*w.list, w.text)
			}
		}
	}
	if f.Agent == nil && len(check) == 0 {
		return
	}
	b.WriteString("\n# For later: this version answers the following with \"unsupported\".\n")
	if len(check) > 0 {
		fmt.Fprintf(b, "# [review]                  # before changes are applied\n# check = %s\n", quote(strings.Join(check, " && ")))
	}
	if len(caches) > 0 {
		fmt.Fprintf(b, "# [cache]                   # shared by sandboxes\n# paths = %s\n", quoteAll(caches))
	}
	if f.Agent != nil {
		fmt.Fprintf(b, "# [session]                 # kept for the next sandbox of this project\n# persist = [%s]\n", quote(f.Agent.State))
	}
}

// quote writes a TOML string. A path may hold anything, a newline that would
// end a comment included.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quote(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
