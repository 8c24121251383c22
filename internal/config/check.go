package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coop-dev/coop/api"
)

// The checks catch at their place what the daemon would refuse without one. The
// daemon has the last word: it trusts no client.

func oneOf(words ...string) func(any) error {
	return func(v any) error {
		s, _ := v.(string)
		if slices.Contains(words, s) {
			return nil
		}
		hint := "one of " + strings.Join(words, ", ")
		if near := nearest(s, words); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return withHint(hint, "unknown value %q", s)
	}
}

// atLeast refuses what is below, but for 0, which is no limit.
func atLeast(least float64) func(any) error {
	return func(v any) error {
		n := number(v)
		if n == 0 || n >= least && n < 1<<62 {
			return nil
		}
		return fmt.Errorf("%v is below %v", v, unit(v, least))
	}
}

func between(least, most float64) func(any) error {
	return func(v any) error {
		if n := number(v); n >= least && n <= most {
			return nil
		}
		return fmt.Errorf("%v is not between %v and %v", v, unit(v, least), unit(v, most))
	}
}

func number(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case api.Size:
		return float64(n)
	case api.Duration:
		return float64(n)
	}
	return 0
}

// unit writes a bound as the value is written.
func unit(like any, n float64) any {
	switch like.(type) {
	case api.Size:
		return api.Size(n)
	case int64:
		return int64(n)
	}
	return n
}

var errNUL = errors.New("holds a NUL byte")

func checkNoNUL(v any) error {
	if s, _ := v.(string); strings.ContainsRune(s, 0) {
		return errNUL
	}
	return nil
}

func checkText(v any) error {
	if s, _ := v.(string); strings.TrimSpace(s) == "" {
		return errors.New("is empty")
	}
	return checkNoNUL(v)
}

// word is text without spaces, controls and a leading dash, which a program it
// is handed to would take for an option.
func word(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func checkImage(v any) error {
	s, _ := v.(string)
	if rest, ok := strings.CutPrefix(s, "oci:"); ok && rest != "" && !strings.ContainsRune(rest, 0) {
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "tar:"); ok && rest != "" && !strings.ContainsRune(rest, 0) {
		return nil
	}
	if !word(s) || strings.HasSuffix(s, ":") {
		return withHint(`"host", an OCI reference such as "debian:12", "oci:DIR" or "tar:FILE"`, "%q is not an image", s)
	}
	return nil
}

func checkPackage(v any) error {
	if s, _ := v.(string); !word(s) {
		return fmt.Errorf("%q is not the name of a package", s)
	}
	return nil
}

func checkCommit(v any) error {
	if s, _ := v.(string); s != "" && !word(s) {
		return fmt.Errorf("%q is not a commit, branch or tag", s)
	}
	return nil
}

// checkUser accepts a name, a uid and uid:gid.
func checkUser(v any) error {
	s, _ := v.(string)
	uid, gid, both := strings.Cut(s, ":")
	ids := isNumber(uid) && (!both || isNumber(gid))
	if len(s) <= 64 && (ids || isUserName(s)) {
		return nil
	}
	return withHint("a name, a uid or uid:gid", "%q is not a user", s)
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == ""
}

func isUserName(s string) bool {
	const lower = "abcdefghijklmnopqrstuvwxyz_"
	s = strings.TrimSuffix(s, "$")
	return s != "" && strings.Contains(lower, s[:1]) && strings.Trim(s, lower+"0123456789.-") == ""
}

func validVariable(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789") == ""
}

func checkSource(v any) error {
	if s, _ := v.(string); strings.HasPrefix(s, "~") {
		return withHint("write the whole path", "~ stands for the home in mounts only")
	}
	return checkText(v)
}

func checkMountSource(v any) error {
	s, _ := v.(string)
	switch {
	case isPath(s):
		return checkTilde(s)
	case s == "" || len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || s[0] == '-':
		return withHint("a path has a slash; a volume's name is 1 to 63 of a-z, 0-9 and -", "%q is neither a path nor the name of a volume", s)
	}
	return nil
}

// checkSeed accepts paths of the host.
func checkSeed(v any) error {
	s, _ := v.(string)
	if !isPath(s) {
		return withHint("a path has a slash", "%q is not a path", s)
	}
	return checkTilde(s)
}

// checkReserve accepts a path below the project, . for all of it, and PATH/**.
func checkReserve(v any) error {
	s, _ := v.(string)
	if s == "." || s == "**" || checkBelow(strings.TrimSuffix(s, "/**")) == nil {
		return nil
	}
	return withHint("relative to the workspace's source, such as src; . is all of it", "%q is not a path to reserve", s)
}

// checkCache accepts a path inside or a word such as npm.
func checkCache(v any) error {
	s, _ := v.(string)
	if s != "" && !isPath(s) && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" {
		return oneOf(caches()...)(s)
	}
	return checkInsideHome(v)
}

// caches are the words for known package caches; the daemon knows their paths.
func caches() []string {
	return []string{"apk", "apt", "cargo", "dnf", "go", "npm", "pip", "pnpm", "uv", "yarn"}
}

// checkTilde refuses ~name: there is only one home.
func checkTilde(s string) error {
	if strings.HasPrefix(s, "~") && s != "~" && !strings.HasPrefix(s, "~/") {
		return withHint("~/… is a path in the home", "%q: the homes of others are not known", s)
	}
	return checkNoNUL(s)
}

// checkInside accepts clean absolute paths.
func checkInside(v any) error {
	s, _ := v.(string)
	if !path.IsAbs(s) || path.Clean(s) != s || s == "/" || len(s) > 255 || strings.ContainsRune(s, 0) {
		return withHint("such as /workspace", "%q is not a clean absolute path", s)
	}
	return nil
}

// checkInsideHome also accepts ~/….
func checkInsideHome(v any) error {
	s, _ := v.(string)
	if err := checkTilde(s); err != nil {
		return err
	}
	if err := checkInside(inHome(s, "/home")); err != nil || s == "~" || s == "~/" {
		return withHint("such as /data or ~/data", "%q is not a clean path inside", s)
	}
	return nil
}

// checkBelow accepts relative paths that stay where they are.
func checkBelow(v any) error {
	s, _ := v.(string)
	if s == "" || path.IsAbs(s) || path.Clean(s) != s || s == "." || s == ".." || strings.HasPrefix(s, "../") || strings.ContainsRune(s, 0) {
		return withHint("such as .claude or .config/gh", "%q is not a path below the home", s)
	}
	return nil
}

func checkGlob(v any) error {
	s, _ := v.(string)
	if s == "" || path.IsAbs(s) || strings.ContainsRune(s, 0) {
		return withHint("relative to the project, such as .github/**", "%q is not a pattern", s)
	}
	for _, step := range strings.Split(s, "/") {
		if _, err := path.Match(step, ""); err != nil || step == ".." || step == "." {
			return withHint("relative to the project, such as .github/**", "%q is not a pattern", s)
		}
	}
	return nil
}

// checkFlag also accepts FILE#KEY.
func checkFlag(v any) error {
	s, _ := v.(string)
	file, part, both := strings.Cut(s, "#")
	if both && part == "" {
		return withHint(`such as "package.json#scripts"`, "%q names no key after the #", s)
	}
	return checkGlob(file)
}

func checkBlock(v any) error {
	s, _ := v.(string)
	switch {
	case s == "":
		return errors.New("is empty")
	case strings.Contains(s, `\x`):
		return withHint(`write it in double quotes: "\x04"`, `%q holds a backslash and an x, not a control character`, s)
	case len(s) > 64:
		return errors.New("is longer than 64 bytes")
	}
	return nil
}

// checkMessage knows what a message may hold.
func checkMessage(v any) error {
	s, _ := v.(string)
	rest := strings.NewReplacer("{{.Sandbox}}", "", "{{.Files}}", "").Replace(s)
	if strings.TrimSpace(s) == "" || strings.Contains(rest, "{{") || strings.ContainsRune(s, 0) {
		return withHint("{{.Sandbox}} and {{.Files}} are known", "%q is not a message", s)
	}
	return nil
}
