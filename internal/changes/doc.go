// Package changes lists what a workspace changed: the exact differences between
// a project and the layer a driver keeps over it. It only reads, and trusts
// nothing in the layer: names, types, sizes and contents were made by the
// sandbox, which may be changing them this very moment.
//
//	file       what it knows
//	walk       where to look: directories that the layer holds, and what is gone
//	overlay    how overlayfs writes down deletions, replaced and moved directories
//	compare    whether two files are the same
//	rename     which added file was a deleted one
//	inspect    what a content is: binary, large, unreadable, never to be applied
//	policy     what is denied and what a person should look at twice
//	text       the change as a patch
//
// Invariants: nothing outside of the project and the layer is ever opened, and
// nothing in the project that did not change; the cost grows with the number of
// changes, not with the project; memory is bounded by Limits.
package changes
