package sandbox

import (
	"path"
	"strings"
	"text/template"
)

// Review is what decides about changes before a person does; [review] of
// coop.toml. Empty lists mean the built-in ones.
type Review struct {
	Deny          []string     `json:"deny,omitempty"`
	Flag          []string     `json:"flag,omitempty"`
	Allow         []string     `json:"allow,omitempty"`
	Check         string       `json:"check,omitempty"`
	CommitMessage string       `json:"commitMessage,omitempty"`
	CommitAuthor  string       `json:"commitAuthor,omitempty"` // agent, reviewer, coauthor
	MaxFileBytes  int64        `json:"maxFileBytes,omitempty"`
	NoBinary      bool         `json:"noBinary,omitempty"`
	AutoApprove   *AutoApprove `json:"autoApprove,omitempty"`
}

// AutoApprove bounds what may be applied without a person looking.
type AutoApprove struct {
	MaxFiles int `json:"maxFiles"`
	MaxLines int `json:"maxLines"`
}

// DefaultCommitMessage is used where neither the request nor the policy has one.
const DefaultCommitMessage = "{{.Sandbox}}: {{.Files}} files"

const maxReviewRules = 1024

func validateReview(s Spec) error {
	r := s.Review
	for what, globs := range map[string][]string{"deny": r.Deny, "flag": r.Flag, "allow": r.Allow} {
		if err := validateGlobs("review."+what, globs); err != nil {
			return err
		}
	}
	switch r.CommitAuthor {
	case "", "agent", "reviewer", "coauthor":
	default:
		return Errorf(Invalid, "review.commitAuthor %.64q is not known", r.CommitAuthor).WithHint("one of agent, reviewer, coauthor")
	}
	if _, err := template.New("").Parse(r.CommitMessage); err != nil {
		return Errorf(Invalid, "review.commitMessage: %w", err)
	}
	if len(r.Check) > MaxArgLength || strings.ContainsRune(r.Check, 0) {
		return Errorf(Invalid, "review.check is too long or has a NUL in it")
	}
	if r.MaxFileBytes < 0 || (r.AutoApprove != nil && (r.AutoApprove.MaxFiles < 0 || r.AutoApprove.MaxLines < 0)) {
		return Errorf(Invalid, "limits of a review cannot be negative")
	}
	return nil
}

func validateGlobs(what string, globs []string) error {
	if len(globs) > maxReviewRules {
		return Errorf(Invalid, "%s has more than %d rules", what, maxReviewRules)
	}
	for _, g := range globs {
		glob, _, _ := strings.Cut(g, "#")
		if _, err := path.Match(strings.ReplaceAll(glob, "**", "*"), ""); err != nil || glob == "" || len(g) > maxPathLength {
			return Errorf(Invalid, "%s: illegal pattern %.128q", what, g)
		}
	}
	return nil
}
