package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	idempotencyHeader = "Idempotency-Key"
	maxIdempotencyKey = 255
)

// specOf turns a request into a specification that has passed Validate.
func specOf(req api.CreateRequest) (sandbox.Spec, error) {
	if err := refusePlanned(req); err != nil {
		return sandbox.Spec{}, err
	}
	w, err := workspaceOf(req)
	if err != nil {
		return sandbox.Spec{}, err
	}
	spec := sandbox.Spec{
		Name: req.Name, Image: req.Image, Build: buildOf(req.Build), Workspace: w, Env: req.Env, Driver: req.Driver,
		Owner: req.Owner, Labels: req.Labels, Metadata: req.Metadata,
	}
	if n := req.Network; n != nil {
		spec.Network = sandbox.NetworkMode(n.Mode)
	}
	if l := req.Limits; l != nil {
		spec.Limits = limitsOf(*l)
	}
	if sec := req.Security; sec != nil {
		spec.Security = sandbox.Security{Seccomp: sec.Seccomp, ReadonlyRoot: sec.ReadonlyRoot, Optional: sec.Optional}
	}
	if a := req.Agent; a != nil {
		spec.Agent = sandbox.Agent{Command: a.Command, Args: a.Args, User: a.User}
	}
	if spec.Session, err = sessionOf(req.Session); err != nil {
		return spec, err
	}
	spec.Review = reviewOf(req.Review)
	storageOf(req, &spec)
	spec = spec.WithDefaults()
	return spec, spec.Validate()
}

// refusePlanned names the first field whose feature is not there yet.
func refusePlanned(req api.CreateRequest) error {
	w, n := req.Workspace, req.Network
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"ttl", req.TTL != 0},
		{"idleTimeout", req.IdleTimeout != 0},
		{"network.allow", n != nil && len(n.Allow) > 0},
		{"network.deny", n != nil && len(n.Deny) > 0},
		{"network.publish", n != nil && len(n.Publish) > 0},
		{"workspace.commit", w != nil && w.Commit != ""},
	} {
		if f.set {
			return notYet(f.name)
		}
	}
	return nil
}

func workspaceOf(req api.CreateRequest) (sandbox.Workspace, error) {
	if req.ScopePath != "" && req.Workspace != nil {
		return sandbox.Workspace{}, sandbox.Errorf(sandbox.Invalid, "scopePath and workspace exclude each other").
			WithHint("scopePath is short for workspace.source with mode overlay")
	}
	if req.ScopePath != "" {
		return sandbox.Workspace{Source: req.ScopePath, Mode: sandbox.ModeOverlay, Repo: true}, nil
	}
	if req.Workspace == nil {
		return sandbox.Workspace{}, nil
	}
	w := *req.Workspace
	out := sandbox.Workspace{Source: w.Source, Mode: sandbox.Mode(w.Mode), Path: w.Path}
	overlay := out.Mode == sandbox.ModeOverlay || out.Mode == "" && w.Source != ""
	if !overlay && w.Repo != nil && *w.Repo {
		return out, sandbox.Errorf(sandbox.Invalid, "workspace.repo is only for mode overlay")
	}
	out.Repo = overlay && (w.Repo == nil || *w.Repo)
	return out, nil
}

func limitsOf(l api.Limits) sandbox.Limits {
	out := sandbox.Limits{
		CPU: l.CPU, MemoryBytes: int64(l.Memory), PIDs: l.PIDs,
		DiskBytes: int64(l.Disk), ExecTimeout: time.Duration(l.ExecTimeout),
	}
	if l.CPU != 0 {
		out.Asked = append(out.Asked, "cpu")
	}
	if l.Memory != 0 {
		out.Asked = append(out.Asked, "memory")
	}
	if l.PIDs != 0 {
		out.Asked = append(out.Asked, "pids")
	}
	return out
}

// createOptions reads the idempotency key. The hash is of the request as we
// understood it, so that spaces and the order of fields do not matter.
func createOptions(r *http.Request, req api.CreateRequest) (engine.CreateOptions, error) {
	o := engine.CreateOptions{Actor: actor(r)}
	keys := r.Header.Values(idempotencyHeader)
	if len(keys) == 0 {
		return o, nil
	}
	if len(keys) > 1 || !visibleASCII(keys[0], maxIdempotencyKey) {
		return o, sandbox.Errorf(sandbox.Invalid, "%s must be one value of 1 to %d visible ASCII characters", idempotencyHeader, maxIdempotencyKey)
	}
	b, err := json.Marshal(req)
	if err != nil {
		return o, fmt.Errorf("hash request: %w", err)
	}
	sum := sha256.Sum256(b)
	o.IdempotencyKey, o.RequestHash = keys[0], hex.EncodeToString(sum[:])
	return o, nil
}
