package unpack

import (
	"archive/tar"
	"fmt"
	"strings"

	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	maxID     = 65535 // a sandbox has 65536 ids
	nobody    = 65534
	ownerAttr = "user.coop.owner"
	paxAttr   = "SCHILY.xattr."
	maxAttrs  = 64
)

// meta is an entry's owner, mode and time as they are here.
func (u *unpacker) meta(h *tar.Header) layerdir.Meta {
	m := layerdir.Meta{Mode: uint32(h.Mode) & 0o7777, Time: h.ModTime}
	if u.SingleID {
		return m // all belongs to root
	}
	m.UID, m.GID = h.Uid, h.Gid
	if m.UID < 0 || m.UID > maxID || m.GID < 0 || m.GID > maxID {
		u.result.Nobody++
		m.UID, m.GID = nobody, nobody
	}
	return m
}

// attributes keeps the extended attributes that are safe to keep, and with a
// single id the owner an entry should have had.
func (u *unpacker) attributes(h *tar.Header, set func(string, []byte) error) error {
	kept := 0
	for key, value := range h.PAXRecords {
		name, ok := strings.CutPrefix(key, paxAttr)
		if !ok || !harmless(name) {
			continue
		}
		if kept++; kept > maxAttrs {
			return sandbox.Errorf(sandbox.TooLarge, "more than %d attributes", maxAttrs)
		}
		if err := u.keep(set(name, []byte(value))); err != nil {
			return err
		}
	}
	if u.SingleID && (h.Uid != 0 || h.Gid != 0) {
		return u.keep(set(ownerAttr, fmt.Appendf(nil, "%d:%d", h.Uid, h.Gid)))
	}
	return nil
}

// keep counts an attribute that cannot be kept here.
func (u *unpacker) keep(err error) error {
	if layerdir.AttrRefused(err) {
		u.result.Attrs++
		return nil
	}
	return err
}

// harmless is the allow-list. Attributes of overlayfs would redirect what a
// sandbox sees; ours would forge an owner.
func harmless(name string) bool {
	if strings.ContainsRune(name, 0) {
		return false
	}
	switch {
	case strings.HasPrefix(name, "user.overlay."), strings.HasPrefix(name, "user.coop."):
		return false
	}
	return name == "security.capability" || strings.HasPrefix(name, "user.") && len(name) > len("user.")
}
