package config

// key is one key of a file: what its value is read into, what that value may
// be, and what the reference says about it. The type of the field decides what
// may be written.
type key[T any] struct {
	name  string
	field func(*T) any
	check func(any) error // of each element, for lists and tables; nil allows everything
	grows bool            // a list that layers append to
	about string
}

// keys are those of coop.toml, in the order of the reference.
func keys() []key[Config] {
	return []key[Config]{
		{"base.image", func(c *Config) any { return &c.Base.Image }, checkImage, false, "root filesystem: `host`, an OCI reference, `oci:DIR` or `tar:FILE`"},

		{"packages.apt", func(c *Config) any { return &c.Packages.Apt }, checkPackage, true, "installed when the base is built; needs an image, not `host`"},
		{"packages.apk", func(c *Config) any { return &c.Packages.Apk }, checkPackage, true, "the same for Alpine"},
		{"packages.dnf", func(c *Config) any { return &c.Packages.Dnf }, checkPackage, true, "the same for Fedora and its relatives"},
		{"packages.npm", func(c *Config) any { return &c.Packages.Npm }, checkPackage, true, "installed globally when the base is built"},
		{"packages.pip", func(c *Config) any { return &c.Packages.Pip }, checkPackage, true, "installed when the base is built"},
		{"setup.run", func(c *Config) any { return &c.Setup.Run }, checkText, true, "shell commands that run when the base is built"},

		{"agent.command", func(c *Config) any { return &c.Agent.Command }, checkText, false, "program of terminal 0; without it a login shell"},
		{"agent.args", func(c *Config) any { return &c.Agent.Args }, checkNoNUL, false, "its arguments"},
		{"agent.install", func(c *Config) any { return &c.Agent.Install }, checkText, false, "shell command that installs it when the base is built"},
		{"agent.user", func(c *Config) any { return &c.Agent.User }, checkUser, false, "name, uid or uid:gid inside; HOME is `/root` or `/home/<user>`"},

		{"workspace.source", func(c *Config) any { return &c.Workspace.Source }, checkSource, false, "directory, git URL (mode clone) or name of a volume (mode volume); relative to the file"},
		{"workspace.mode", func(c *Config) any { return &c.Workspace.Mode }, oneOf("overlay", "bind", "clone", "volume", "none"), false, "`overlay`: copy-on-write; `bind`: the directory itself; `clone`: a git repository; `volume`: a named directory; `none`: an empty one"},
		{"workspace.path", func(c *Config) any { return &c.Workspace.Path }, checkInside, false, "where it is seen inside"},
		{"workspace.repo", func(c *Config) any { return &c.Workspace.Repo }, nil, false, "mode overlay: the original, read-only, at `/repo`"},
		{"workspace.commit", func(c *Config) any { return &c.Workspace.Commit }, checkCommit, false, "mode clone: what to check out"},
		{"workspace.reserve", func(c *Config) any { return &c.Workspace.Reserve }, checkReserve, false, "paths of the source that no other sandbox may reserve until this one is removed; `.` is all of it"},

		{"env", func(c *Config) any { return &c.Env }, checkExpression, false, "variables for everything that runs inside. `$NAME`, `${NAME}` and `${NAME:-default}` come from the host; `$$` is a dollar sign"},

		{"network.mode", func(c *Config) any { return &c.Network.Mode }, oneOf("veth", "bridge", "host", "none"), false, "`veth` (also `bridge`), `host` or `none`"},

		{"session.persist", func(c *Config) any { return &c.Session.Persist }, checkBelow, false, "directories below the sandbox's home that are kept for the project, until `rm --purge`"},
		{"session.auto_restart", func(c *Config) any { return &c.Session.AutoRestart }, nil, false, "start terminal 0 again after it exits; stops after 3 exits within 5 s each"},
		{"session.restart_delay", func(c *Config) any { return &c.Session.RestartDelay }, nil, false, "how long to wait before that"},
		{"session.ttl", func(c *Config) any { return &c.Session.TTL }, nil, false, "stop the sandbox after this long, delete it if nothing is pending; `\"0\"` is never"},
		{"session.idle_timeout", func(c *Config) any { return &c.Session.IdleTimeout }, nil, false, "stop it after this long without activity; `\"0\"` is never"},

		{"mounts", func(c *Config) any { return &c.Mounts }, nil, true, "what else of the host is visible inside; see below"},

		{"limits.cpu", func(c *Config) any { return &c.Limits.CPU }, atLeast(0.01), false, "how many processors at most"},
		{"limits.memory", func(c *Config) any { return &c.Limits.Memory }, atLeast(8 << 20), false, "how much memory at most"},
		{"limits.pids", func(c *Config) any { return &c.Limits.PIDs }, between(16, 1<<22), false, "how many processes and threads at most"},
		{"limits.disk", func(c *Config) any { return &c.Limits.Disk }, nil, false, "how much may be written at most"},
		{"limits.exec_timeout", func(c *Config) any { return &c.Limits.ExecTimeout }, nil, false, "how long one command of the API may take"},

		{"security.seccomp", func(c *Config) any { return &c.Security.Seccomp }, oneOf("default", "strict", "nesting", "off"), false, "which system calls are allowed"},
		{"security.readonly_root", func(c *Config) any { return &c.Security.ReadonlyRoot }, nil, false, "nothing outside of workspace and `/tmp` can be written"},
		{"security.optional", func(c *Config) any { return &c.Security.Optional }, checkText, false, "fences that may be missing, e.g. `[\"limits\"]`; anything else fails closed"},

		{"terminal.detach_key", func(c *Config) any { return &c.Terminal.DetachKey }, checkDetachKey, false, "leaves a terminal and lets everything run; `ctrl-` and a letter or one of `] \\ ^ _`, several as `ctrl-p,ctrl-q`, or `none`"},
		{"terminal.scrollback", func(c *Config) any { return &c.Terminal.Scrollback }, between(4<<10, 1<<30), false, "how much output is kept"},
		{"terminal.ctrl_c_debounce", func(c *Config) any { return &c.Terminal.CtrlCDebounce }, nil, false, "web clients on terminal 0: a second Ctrl+C within this time is dropped"},
		{"terminal.block", func(c *Config) any { return &c.Terminal.Block }, checkBlock, false, "byte sequences web clients may not send, such as `\"\\x04\"`"},

		{"review.deny", func(c *Config) any { return &c.Review.Deny }, checkGlob, false, "changes that are listed as denied and never pending"},
		{"review.flag", func(c *Config) any { return &c.Review.Flag }, checkFlag, false, "changes that are marked, because they make the host run code; `FILE#KEY` is one key of a JSON file"},
		{"review.check", func(c *Config) any { return &c.Review.Check }, checkNoNUL, false, "shell command that must succeed before anything is applied"},
		{"review.commit_message", func(c *Config) any { return &c.Review.CommitMessage }, checkMessage, false, "of `approve --commit`; knows `{{.Sandbox}}` and `{{.Files}}`"},
		{"review.commit_author", func(c *Config) any { return &c.Review.CommitAuthor }, oneOf("agent", "reviewer", "coauthor"), false, "whose commit it is"},
		{"review.allow", func(c *Config) any { return &c.Review.Allow }, checkGlob, false, "when given, changes anywhere else are denied"},
		{"review.max_file", func(c *Config) any { return &c.Review.MaxFile }, nil, false, "larger new files are denied; `\"0\"` is no bound"},
		{"review.no_binary", func(c *Config) any { return &c.Review.NoBinary }, nil, false, "new content that is not text is denied"},
		{"review.auto_files", func(c *Config) any { return &c.Review.AutoFiles }, between(0, 1<<20), false, "`approve --auto` applies at most so many files; 0 turns it off"},
		{"review.auto_lines", func(c *Config) any { return &c.Review.AutoLines }, between(0, 1<<30), false, "and so many lines, added and removed together"},

		{"driver.workspace", func(c *Config) any { return &c.Driver.Workspace }, oneOf("auto", "overlay", "sqlite", "copy"), false, "way of copy-on-write"},
		{"driver.upper", func(c *Config) any { return &c.Driver.Upper }, oneOf("disk", "tmpfs"), false, "where a sandbox's writes are kept: `tmpfs` is memory, `limits.disk` (2GiB unless set) its size; it is gone when the sandbox stops, which unreviewed changes prevent"},

		{"cache.paths", func(c *Config) any { return &c.Cache.Paths }, checkCache, false, "package caches that sandboxes share, copy-on-write: paths inside, or `npm`, `yarn`, `pnpm`, `pip`, `uv`, `go`, `cargo`, `apt`, `apk`, `dnf`; see `coop cache promote`"},
	}
}

// grows tells which lists append.
func grows(name string) bool {
	for _, k := range keys() {
		if k.name == name {
			return k.grows
		}
	}
	return false
}
