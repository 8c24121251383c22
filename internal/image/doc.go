// Package image fetches images, keeps their layers unpacked and knows who uses
// them. It owns layers/ and images/ in COOP_HOME:
//
//	layers/sha256/<diffID>/       one layer, ready for overlayfs
//	layers/sha256/<diffID>.json   what is known of it; written last
//	layers/tmp/                   blobs half downloaded, layers half unpacked
//	images/manifests/<hex>.json   one image: its layers and configuration
//	images/refs/<hash>.json       a reference and the image it stands for
//
// A layer without its .json, and whatever is in tmp, is never used. Everything
// of a pull is on disk before its .json files are: they are written after
// syncfs(2), each under a temporary name and renamed.
//
// Registries, archives and everything in them are hostile: sizes and counts are
// bounded before anything is read, every blob is checked against the digest the
// manifest gives and every layer against the one the configuration gives.
//
// Invariant: a layer is removed only when no image, no sandbox and no pull under
// way needs it.
package image
