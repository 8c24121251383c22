// Package engine holds the use cases: create, find, stop, start and delete a
// sandbox, run a command in it, look at its processes and files. It knows the
// order of things and who undoes what; the kernel work is done by launch and
// rootfs, the writing down by store.
//
// Invariant: whatever a create has acquired is released when it fails or is
// cancelled, and a delete returns only when processes, mounts, control groups,
// directories and the name are gone.
package engine
