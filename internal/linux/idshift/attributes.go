package idshift

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The attributes that hold ids.
const (
	capability = "security.capability"
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

type attr struct {
	name  string
	value []byte
}

// attributes gives those of a file that must be written after its owner was
// changed, with the ids they shall have.
func (s shifter) attributes(path string) ([]attr, error) {
	names, err := list(path)
	if err != nil {
		return nil, err
	}
	var out []attr
	for _, name := range names {
		if name != capability && name != aclAccess && name != aclDefault {
			continue
		}
		value, err := get(path, name)
		if err != nil {
			return nil, err
		}
		if name == capability {
			value = s.capability(value)
		} else {
			value = s.acl(value)
		}
		out = append(out, attr{name, value})
	}
	return out, nil
}

func list(path string) ([]string, error) {
	buf := make([]byte, 1024)
	n, err := unix.Llistxattr(path, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = unix.Llistxattr(path, buf)
	}
	if err == unix.EOPNOTSUPP || n == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "listxattr", Path: path, Err: err}
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00"), nil
}

func get(path, name string) ([]byte, error) {
	buf := make([]byte, 64<<10) // XATTR_SIZE_MAX
	n, err := unix.Lgetxattr(path, name, buf)
	if err != nil {
		return nil, &os.PathError{Op: "getxattr " + name, Path: path, Err: err}
	}
	return buf[:n], nil
}

// capability turns capabilities of the sandbox's root (revision 3, with its id;
// linux/capability.h) into ones of whoever is root where the layer is used
// (revision 2): through an idmapped mount the kernel takes them for that root's.
func (s shifter) capability(v []byte) []byte {
	const revisions, two, three = 0xff000000, 0x02000000, 0x03000000
	if len(v) != 24 || binary.LittleEndian.Uint32(v)&revisions != three || s.id(binary.LittleEndian.Uint32(v[20:])) != 0 {
		return v
	}
	out := append([]byte(nil), v[:20]...)
	binary.LittleEndian.PutUint32(out, binary.LittleEndian.Uint32(v)&^revisions|two)
	return out
}

// acl shifts the ids of an access list: a version, then tag, permissions and id
// of each entry (linux/posix_acl_xattr.h).
func (s shifter) acl(v []byte) []byte {
	const head, entry, user, group = 4, 8, 0x02, 0x08
	out := append([]byte(nil), v...)
	for at := head; at+entry <= len(out); at += entry {
		if tag := binary.LittleEndian.Uint16(out[at:]); tag == user || tag == group {
			id := out[at+4:]
			binary.LittleEndian.PutUint32(id, s.id(binary.LittleEndian.Uint32(id)))
		}
	}
	return out
}
