// Package unpack turns one layer of an image, a tar archive, into a directory
// that overlayfs can stack. It owns the meaning of entries: whiteouts, links,
// owners, attributes. It refuses what no layer needs and bounds what it cannot
// refuse.
//
// Everything in a layer is hostile. What becomes of it:
//
//	entry                       here
//	name with ..                refused
//	absolute name               beneath the root
//	parent is a link            followed by the kernel within the root, never out of it
//	hard link                   only to a file of the same layer
//	.wh.NAME, .wh..wh..opq      whiteout, opaque directory; forged ones (devices,
//	                            overlay attributes) are left out
//	device                      left out, counted
//	set-uid, set-gid, sticky    kept: every tree is mounted nosuid
//	user.*, security.capability kept where the file system can; user.overlay.*,
//	                            user.coop.* and all others left out
//	owner without an id here    nobody, counted; with a single id root, and the
//	                            owner kept in user.coop.owner
//	sizes, counts, expansion    bounded by Limits
//
// Invariant: nothing outside of the given directory is touched (package
// layerdir), and the digest returned is that of every byte of the archive.
package unpack
