package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coop-dev/coop/api"
)

// specFlags say what a new sandbox is like; run and create share them. Without
// add they are flags of which none is given.
type specFlags struct {
	name, image, driver, user string
	workspace, mode, network  string
	cpu                       float64
	pids                      int64
	memory, disk, ttl         string
	env, labels               []string
	volumes, mounts           []string
	caches, reserve           []string
	upper                     string
	seccomp                   string
	readOnlyRoot              bool
	optional                  []string
	pull                      string

	set *pflag.FlagSet
}

// given reports whether a flag stands on the command line.
func (s *specFlags) given(flag string) bool { return s.set != nil && s.set.Changed(flag) }

func (s *specFlags) add(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.name, "name", "", "name of the sandbox (default: after the directory)")
	f.StringVar(&s.image, "image", "", "root filesystem (default host)")
	f.StringVar(&s.pull, "pull", pullMissing, "when to fetch the image: missing, always or never")
	f.StringVar(&s.workspace, "workspace", "", "directory, git URL or volume to work on (default: the current directory)")
	f.StringVar(&s.mode, "mode", "", "overlay, bind, clone, volume or none (default overlay)")
	f.StringVar(&s.network, "network", "", "veth, host or none")
	f.Float64Var(&s.cpu, "cpu", 0, "how many processors at most")
	f.StringVar(&s.memory, "memory", "", "how much memory at most, as 4GiB")
	f.Int64Var(&s.pids, "pids", 0, "how many processes at most")
	f.StringVar(&s.disk, "disk", "", "how much may be written at most, as 10GiB")
	f.StringVar(&s.ttl, "ttl", "", "stop after this long, as 24h")
	f.StringArrayVarP(&s.env, "env", "e", nil, "K=V, or K for the value it has here")
	f.StringArrayVar(&s.labels, "label", nil, "K=V")
	f.StringArrayVar(&s.volumes, "volume", nil, "NAME:TARGET[:ro]")
	f.StringArrayVar(&s.caches, "cache", nil, "shared package cache: npm, pip, go, cargo, apt, … or a path inside")
	f.StringArrayVar(&s.reserve, "reserve", nil, "path of the workspace's source that no other sandbox may reserve (. is all)")
	f.StringArrayVar(&s.mounts, "mount", nil, "PATH:TARGET[:rw], read-only unless :rw")
	f.StringVar(&s.seccomp, "seccomp", "", "default, strict, nesting or off")
	f.BoolVar(&s.readOnlyRoot, "read-only-root", false, "nothing outside workspace and /tmp can be written")
	f.StringVar(&s.driver, "driver", "", "auto, overlay, sqlite or copy")
	f.StringVar(&s.upper, "upper", "", "where writes are kept: disk or tmpfs (memory, gone at the end)")
	f.StringVarP(&s.user, "user", "u", "", "name, uid or uid:gid inside")
	f.StringSliceVar(&s.optional, "optional", nil, "a fence that may be missing, as limits")
}

// apply puts the flags that were given over what the files say: one that was
// not given changes nothing.
func (s *specFlags) apply(req *api.CreateRequest) (err error) {
	req.Name = s.name
	if s.given("image") {
		req.Image = imageName(s.image)
	}
	if s.given("driver") {
		req.Driver = s.driver
	}
	if s.given("network") {
		req.Network = &api.Network{Mode: s.network}
	}
	if s.given("user") {
		if req.Agent == nil {
			req.Agent = &api.Agent{}
		}
		req.Agent.User = s.user
	}
	if s.given("ttl") {
		if req.TTL, err = parseTTL(s.ttl); err != nil {
			return err
		}
	}
	s.applySecurity(req)
	s.applyStorage(req)
	if req.Labels, err = labelMap(s.labels); err != nil {
		return err
	}
	if err := s.applyLimits(req); err != nil {
		return err
	}
	return s.applyWorkspace(req.Workspace)
}

func (s *specFlags) applySecurity(req *api.CreateRequest) {
	if !s.given("seccomp") && !s.given("read-only-root") && !s.given("optional") {
		return
	}
	if req.Security == nil {
		req.Security = &api.Security{}
	}
	if s.given("seccomp") {
		req.Security.Seccomp = s.seccomp
	}
	if s.given("read-only-root") {
		req.Security.ReadonlyRoot = s.readOnlyRoot
	}
	if s.given("optional") {
		req.Security.Optional = s.optional
	}
}

// applyWorkspace ends with a source the daemon can use: it does not share our
// current directory.
func (s *specFlags) applyWorkspace(ws *api.Workspace) (err error) {
	if s.given("mode") {
		ws.Mode = s.mode
		if s.mode != "overlay" {
			ws.Repo = nil // about mode overlay only
		}
		if s.mode == "none" || s.mode == "volume" {
			ws.Source = "" // a directory that a file names is neither
		}
	}
	if s.given("workspace") {
		ws.Source = s.workspace
	}
	switch {
	case ws.Mode == "none" && s.given("workspace"):
		return &usageError{message: "--mode none has no workspace, but --workspace is given"}
	case ws.Mode == "volume" && ws.Source == "":
		return &usageError{message: "mode volume needs the volume's name", hint: "--workspace NAME"}
	case ws.Mode == "none", ws.Mode == "volume":
		return nil
	case ws.Mode == "clone" && strings.Contains(ws.Source, ":"): // a URL, or host:path as git and ssh write it
		return nil
	}
	ws.Source, err = directory(ws.Source)
	return err
}

// directory is where a workspace comes from, without symbolic links, so that
// the sandbox is found again from wherever its directory is entered.
func directory(path string) (string, error) {
	if path == "" {
		return workingDir()
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", &api.Error{
			Code:    api.CodeInvalid,
			Message: fmt.Sprintf("workspace %s: %s", path, pathCause(err)),
			Hint:    "name a directory that exists, or use --mode none for a sandbox without a project",
		}
	}
	return real, nil
}

// pathCause drops the repeated path of an os error.
func pathCause(err error) error {
	if pathErr, ok := err.(*os.PathError); ok {
		return pathErr.Err
	}
	return err
}

func (s *specFlags) applyLimits(req *api.CreateRequest) error {
	if s.cpu < 0 || s.pids < 0 {
		return &usageError{message: "--cpu and --pids cannot be negative"}
	}
	l := api.Limits{}
	if req.Limits != nil {
		l = *req.Limits
	}
	if s.given("cpu") {
		l.CPU = s.cpu
	}
	if s.given("pids") {
		l.PIDs = s.pids
	}
	for _, size := range []struct {
		flag, text string
		into       *api.Size
	}{{"memory", s.memory, &l.Memory}, {"disk", s.disk, &l.Disk}} {
		if !s.given(size.flag) {
			continue
		}
		n, err := api.ParseSize(size.text)
		if err != nil {
			return &usageError{message: "--" + size.flag + ": " + err.Error()}
		}
		*size.into = n
	}
	req.Limits = &l
	if l == (api.Limits{}) {
		req.Limits = nil
	}
	return nil
}

func parseTTL(text string) (api.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &usageError{message: fmt.Sprintf("--ttl: %q is not a duration such as 24h", text)}
	}
	return api.Duration(d), nil
}

// envMap reads K=V, and K alone as the value K has here. What is asked for and
// not there is a mistake: an agent without its key fails much later.
func envMap(list []string) (map[string]string, error) {
	var env map[string]string
	for _, item := range list {
		key, value, given := strings.Cut(item, "=")
		if key == "" {
			return nil, &usageError{message: fmt.Sprintf("--env: %q is neither K=V nor K", item)}
		}
		if !given {
			if value, given = os.LookupEnv(key); !given {
				return nil, &usageError{message: fmt.Sprintf("--env: %s is not set here", key), hint: "give it a value: -e " + key + "=…"}
			}
		}
		env = put(env, key, value)
	}
	return env, nil
}

func labelMap(list []string) (map[string]string, error) {
	var labels map[string]string
	for _, item := range list {
		key, value, ok := strings.Cut(item, "=")
		if key == "" || !ok {
			return nil, &usageError{message: fmt.Sprintf("--label: %q is not K=V", item)}
		}
		labels = put(labels, key, value)
	}
	return labels, nil
}

func put(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func (s *specFlags) mountList() ([]api.Mount, error) {
	var all []api.Mount
	for _, item := range s.mounts {
		m, err := parseMount("--mount", item, false)
		if err != nil {
			return nil, err
		}
		if m.Source, err = mountPath(m.Source); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	for _, item := range s.volumes {
		m, err := parseMount("--volume", item, true)
		if err != nil {
			return nil, err
		}
		if strings.ContainsRune(m.Source, '/') {
			return nil, &usageError{message: fmt.Sprintf("--volume: %q is a path, not a volume's name", m.Source), hint: "--mount is for paths"}
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMount reads SOURCE:TARGET[:ro|:rw].
func parseMount(flag, item string, write bool) (api.Mount, error) {
	parts := strings.Split(item, ":")
	if len(parts) == 3 && (parts[2] == "ro" || parts[2] == "rw") {
		write = parts[2] == "rw"
		parts = parts[:2]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return api.Mount{}, &usageError{message: fmt.Sprintf("%s: %q is not SOURCE:TARGET with :ro or :rw after it", flag, item)}
	}
	return api.Mount{Source: parts[0], Target: parts[1], Write: write}, nil
}
