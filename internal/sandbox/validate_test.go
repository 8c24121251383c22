package sandbox

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// good is the smallest spec a person can ask for.
func good() Spec { return Spec{}.WithDefaults() }

func TestDefaultsAreValid(t *testing.T) {
	for name, s := range map[string]Spec{
		"empty":    {},
		"overlay":  {Workspace: Workspace{Source: "/home/me/project"}},
		"bind":     {Workspace: Workspace{Source: "/home/me/project", Mode: ModeBind}},
		"strict":   {Security: Security{Seccomp: "strict", Optional: []string{"limits", "seccomp", "groups", "mask"}}},
		"limits":   {Limits: Limits{CPU: 0.01, MemoryBytes: 8 << 20, PIDs: 16, ExecTimeout: time.Second}},
		"named":    {Name: strings.Repeat("a", 63)},
		"numbered": {Agent: Agent{User: "1000:1000"}},
		"tmpfs":    {Upper: "tmpfs", Driver: "overlay", Network: NetworkHost},
	} {
		if err := s.WithDefaults().Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	s := Spec{}.WithDefaults()
	if s.Image != DefaultImage || s.Network != NetworkNone || s.Security.Seccomp != DefaultSeccomp ||
		s.Agent.User != DefaultUser || s.Workspace.Path != DefaultMountPath || s.Workspace.Mode != ModeNone ||
		s.Limits.PIDs != DefaultPIDs {
		t.Errorf("defaults: %+v", s)
	}
	if m := (Spec{Workspace: Workspace{Source: "/p"}}).WithDefaults().Workspace.Mode; m != ModeOverlay {
		t.Errorf("a source alone gives mode %q", m)
	}
	set := Spec{
		Image: "x", Network: NetworkHost, Driver: "overlay", Upper: "tmpfs", Security: Security{Seccomp: "off"},
		Agent: Agent{User: "me"}, Workspace: Workspace{Mode: ModeBind, Source: "/s", Path: "/p"}, Limits: Limits{PIDs: 20},
	}
	if got := set.WithDefaults(); got.Image != "x" || got.Network != NetworkHost || got.Upper != "tmpfs" ||
		got.Security.Seccomp != "off" || got.Agent.User != "me" || got.Workspace != set.Workspace || got.Limits.PIDs != 20 {
		t.Errorf("what was set did not stay: %+v", got)
	}
}

func TestValidateRefuses(t *testing.T) {
	many := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m["V"+strings.Repeat("x", i%40)+string(rune('a'+i%26))+strings.Repeat("y", i/40)] = ""
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		code   Code
	}{
		"name with upper case":   {func(s *Spec) { s.Name = "Box" }, Invalid},
		"name beginning with -":  {func(s *Spec) { s.Name = "-box" }, Invalid},
		"name too long":          {func(s *Spec) { s.Name = strings.Repeat("a", 64) }, Invalid},
		"name with a slash":      {func(s *Spec) { s.Name = "a/b" }, Invalid},
		"name with a newline":    {func(s *Spec) { s.Name = "a\n" }, Invalid},
		"overlay without source": {func(s *Spec) { s.Workspace.Mode = ModeOverlay }, Invalid},
		"bind without source":    {func(s *Spec) { s.Workspace.Mode = ModeBind }, Invalid},
		"relative source":        {func(s *Spec) { s.Workspace = Workspace{Mode: ModeOverlay, Source: "p", Path: "/w"} }, Invalid},
		"source with NUL":        {func(s *Spec) { s.Workspace = Workspace{Mode: ModeBind, Source: "/p\x00", Path: "/w"} }, Invalid},
		"endless source": {func(s *Spec) {
			s.Workspace = Workspace{Mode: ModeBind, Source: "/" + strings.Repeat("p", 4095), Path: "/w"}
		}, Invalid},
		"none with source":        {func(s *Spec) { s.Workspace.Source = "/p" }, Invalid},
		"clone":                   {func(s *Spec) { s.Workspace.Mode = ModeClone }, Unsupported},
		"volume without a name":   {func(s *Spec) { s.Workspace.Mode = ModeVolume }, Invalid},
		"volume by path":          {func(s *Spec) { s.Workspace.Mode, s.Workspace.Source = ModeVolume, "/v" }, Invalid},
		"unknown mode":            {func(s *Spec) { s.Workspace.Mode = "snapshot" }, Invalid},
		"relative path":           {func(s *Spec) { s.Workspace.Path = "workspace" }, Invalid},
		"empty path":              {func(s *Spec) { s.Workspace.Path = "" }, Invalid},
		"unclean path":            {func(s *Spec) { s.Workspace.Path = "/a/../etc" }, Invalid},
		"path with a slash more":  {func(s *Spec) { s.Workspace.Path = "/workspace/" }, Invalid},
		"two slashes":             {func(s *Spec) { s.Workspace.Path = "//workspace" }, Invalid},
		"path with NUL":           {func(s *Spec) { s.Workspace.Path = "/w\x00" }, Invalid},
		"endless path":            {func(s *Spec) { s.Workspace.Path = "/" + strings.Repeat("w", 255) }, Invalid},
		"the root":                {func(s *Spec) { s.Workspace.Path = "/" }, Invalid},
		"proc":                    {func(s *Spec) { s.Workspace.Path = "/proc/self" }, Invalid},
		"etc":                     {func(s *Spec) { s.Workspace.Path = "/etc" }, Invalid},
		"below usr":               {func(s *Spec) { s.Workspace.Path = "/usr/src/project" }, Invalid},
		"the original's place":    {func(s *Spec) { s.Workspace.Path = RepoPath }, Invalid},
		"an image like a flag":    {func(s *Spec) { s.Image = "-debian" }, Invalid},
		"an image of two lines":   {func(s *Spec) { s.Image = "debian\n12" }, Invalid},
		"an image without end":    {func(s *Spec) { s.Image = strings.Repeat("d", 513) }, Invalid},
		"env name with =":         {func(s *Spec) { s.Env = map[string]string{"A=B": ""} }, Invalid},
		"env name empty":          {func(s *Spec) { s.Env = map[string]string{"": "x"} }, Invalid},
		"env name with digit":     {func(s *Spec) { s.Env = map[string]string{"1A": "x"} }, Invalid},
		"env value with NUL":      {func(s *Spec) { s.Env = map[string]string{"A": "x\x00y"} }, Invalid},
		"env value too long":      {func(s *Spec) { s.Env = map[string]string{"A": strings.Repeat("x", MaxArgLength)} }, TooLarge},
		"too much env":            {func(s *Spec) { s.Env = many(MaxEnvEntries + 1) }, TooLarge},
		"veth":                    {func(s *Spec) { s.Network = NetworkVeth }, Unsupported},
		"bridge":                  {func(s *Spec) { s.Network = "bridge" }, Unsupported},
		"unknown network":         {func(s *Spec) { s.Network = "wifi" }, Invalid},
		"nesting":                 {func(s *Spec) { s.Security.Seccomp = "nesting" }, Unsupported},
		"unknown seccomp":         {func(s *Spec) { s.Security.Seccomp = "loose" }, Invalid},
		"unknown fence":           {func(s *Spec) { s.Security.Optional = []string{"mask", "moat"} }, Invalid},
		"negative cpu":            {func(s *Spec) { s.Limits.CPU = -1 }, Invalid},
		"hardly any cpu":          {func(s *Spec) { s.Limits.CPU = 0.009 }, Invalid},
		"negative memory":         {func(s *Spec) { s.Limits.MemoryBytes = -1 }, Invalid},
		"hardly any memory":       {func(s *Spec) { s.Limits.MemoryBytes = 8<<20 - 1 }, Invalid},
		"negative pids":           {func(s *Spec) { s.Limits.PIDs = -1 }, Invalid},
		"hardly any pids":         {func(s *Spec) { s.Limits.PIDs = 15 }, Invalid},
		"negative disk":           {func(s *Spec) { s.Limits.DiskBytes = -1 }, Invalid},
		"disk":                    {func(s *Spec) { s.Limits.DiskBytes = 1 << 30 }, Unsupported},
		"negative exec timeout":   {func(s *Spec) { s.Limits.ExecTimeout = -1 }, Invalid},
		"user with upper case":    {func(s *Spec) { s.Agent.User = "Me" }, Invalid},
		"user with a slash":       {func(s *Spec) { s.Agent.User = "a/b" }, Invalid},
		"user with three numbers": {func(s *Spec) { s.Agent.User = "1:2:3" }, Invalid},
		"user empty":              {func(s *Spec) { s.Agent.User = "" }, Invalid},
		"user too long":           {func(s *Spec) { s.Agent.User = strings.Repeat("a", 65) }, Invalid},
		"user with a newline":     {func(s *Spec) { s.Agent.User = "root\n" }, Invalid},
		"driver of the future":    {func(s *Spec) { s.Driver = "sqlite" }, Unsupported},
		"unknown driver":          {func(s *Spec) { s.Driver = "zfs" }, Invalid},
		"unknown upper":           {func(s *Spec) { s.Upper = "floppy" }, Invalid},
		"label without name":      {func(s *Spec) { s.Labels = map[string]string{"": "x"} }, Invalid},
		"label with =":            {func(s *Spec) { s.Labels = map[string]string{"a=b": "x"} }, Invalid},
		"label with NUL":          {func(s *Spec) { s.Labels = map[string]string{"a\x00": "x"} }, Invalid},
		"label name too long":     {func(s *Spec) { s.Labels = map[string]string{strings.Repeat("a", 257): ""} }, Invalid},
		"label value too long":    {func(s *Spec) { s.Labels = map[string]string{"a": strings.Repeat("a", 257)} }, Invalid},
		"too many labels":         {func(s *Spec) { s.Labels = many(MaxLabels + 1) }, TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			c.change(&s)
			err := s.Validate()
			if err == nil || CodeOf(err) != c.code {
				t.Fatalf("got %v (%s), want %s", err, CodeOf(err), c.code)
			}
			var e *Error
			if !errors.As(err, &e) || e.Message == "" || len(e.Message) > 5000 {
				t.Errorf("message %.80q", err)
			}
		})
	}
}

func TestValidateUserAccepts(t *testing.T) {
	for _, u := range []string{"root", "_apt", "www-data", "user.name", "machine$", "0", "1000", "1000:100"} {
		if err := ValidateUser(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestMountPathsOfTheirOwn(t *testing.T) {
	for _, p := range []string{"/workspace", "/home/me/project", "/srv", "/root/x", "/procs", "/etcetera"} {
		s := good()
		s.Workspace.Path = p
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}
