package engine

import (
	"context"
	"path"
	"strings"

	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// useImage writes into a new sandbox's specification what its image says: whom
// programs run as, and what runs when nobody says what. The image stays until
// release, which comes after the record that names it.
func (e *Engine) useImage(spec *sandbox.Spec) (release func(), err error) {
	spec.ImageConfig = nil
	if spec.Image == sandbox.DefaultImage {
		return func() {}, nil
	}
	if e.Images == nil {
		return nil, sandbox.Errorf(sandbox.Unsupported, "this daemon keeps no images")
	}
	img, release, err := e.Images.Use(spec.Image)
	if err != nil {
		return nil, err
	}
	if err := applyImage(spec, img, e.UIDs.Single()); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func applyImage(spec *sandbox.Spec, img image.Image, single bool) error {
	spec.ImageConfig = &sandbox.ImageConfig{Digest: img.Digest, Env: img.Config.Env, WorkingDir: img.Config.WorkingDir}
	if spec.Agent.User == "" {
		user, err := imageUser(img.Config.User)
		if err != nil {
			return err
		}
		if spec.Agent.User = user; single && user != sandbox.DefaultUser && user != "0" {
			spec.Agent.User, spec.ImageConfig.InsteadOf = sandbox.DefaultUser, user
		}
	}
	if argv := img.Config.Command(); spec.Agent.Command == "" && len(argv) > 0 {
		spec.Agent.Command, spec.Agent.Args = argv[0], argv[1:]
	}
	return nil
}

// imageUser reads USER of an image. A group's name is left to /etc/passwd, which
// almost always says the same.
func imageUser(user string) (string, error) {
	if user == "" {
		return sandbox.DefaultUser, nil
	}
	if sandbox.ValidateUser(user) == nil {
		return user, nil
	}
	name, _, _ := strings.Cut(user, ":")
	if err := sandbox.ValidateUser(name); err != nil {
		return "", sandbox.Errorf(sandbox.Invalid, "the image wants to run as %.64q", user).
			WithHint("say as whom with --user")
	}
	return name, nil
}

// imageWeakness tells where an image could not be taken at its word.
func imageWeakness(spec sandbox.Spec) []sandbox.Degraded {
	c := spec.ImageConfig
	if c == nil || c.InsteadOf == "" {
		return nil
	}
	return []sandbox.Degraded{{
		Fence:  "user",
		Reason: "programs run as root inside, not as " + c.InsteadOf + ": without newuidmap and a subuid range (package uidmap) there is one id only",
	}}
}

// system says which trees a sandbox's root is made of. key names the state of
// the host that is in use, if one is.
func (e *Engine) system(ctx context.Context, spec sandbox.Spec, files *rootfs.Params) (key string, err error) {
	if spec.ImageConfig == nil {
		files.Image, err = e.host.Get(ctx)
		if err != nil {
			return "", err
		}
		return files.Image.Key, nil
	}
	if spec.ImageConfig.OverHost {
		return e.systemOverHost(ctx, spec, files)
	}
	img, err := e.Images.ByDigest(spec.ImageConfig.Digest)
	if err != nil {
		return "", err
	}
	files.Stack = &rootfs.Stack{Dir: e.Images.LayerDir(), Names: e.Images.LayerNames(img)}
	if uid, gid, ok := e.Images.LookupUser(img, spec.Agent.User); ok {
		files.OwnerUID, files.OwnerGID = uid, gid
	}
	return "", nil
}

// home is where commands start: the workspace, or without one where the image
// says.
func (l *live) home() string {
	c := l.spec.ImageConfig
	if l.spec.Workspace.Mode == sandbox.ModeNone && c != nil && path.IsAbs(c.WorkingDir) {
		return path.Clean(c.WorkingDir)
	}
	return l.spec.Workspace.Path
}

// imageEnv is the environment of the image, without what only Coop can say.
func (l *live) imageEnv() map[string]string {
	if l.spec.ImageConfig == nil {
		return nil
	}
	env := map[string]string{}
	for _, kv := range l.spec.ImageConfig.Env {
		k, v, ok := strings.Cut(kv, "=")
		if ok && k != "" && k != "IS_SANDBOX" && !strings.HasPrefix(k, "COOP_") && !strings.ContainsRune(kv, 0) {
			env[k] = v
		}
	}
	return env
}

// ImagesInUse names the sandboxes of each image, by digest.
func (e *Engine) ImagesInUse(ctx context.Context) (map[string][]string, error) {
	used := map[string][]string{}
	for cursor := ""; ; {
		page, err := e.Store.List(ctx, store.Filter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			if c := r.Spec.ImageConfig; c != nil && r.Status != sandbox.Deleted {
				used[c.Digest] = append(used[c.Digest], r.Spec.Name)
			}
		}
		if cursor = page.Next; cursor == "" {
			return used, nil
		}
	}
}
