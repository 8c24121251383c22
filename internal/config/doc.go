// Package config owns coop.toml and daemon.toml: what keys there are, what
// their values may be, where the files are found and how they are put together.
//
//	built-in < ~/.config/coop/default.toml < coop.toml < flags
//
// A file is parsed into a tree that remembers where everything stands, each
// tree is checked by the table of its keys (keys.go, daemon.go), the trees are
// merged, and the result is read into a Config. What is wrong is reported all
// at once, with file, line, column and, for an unknown key, the nearest known
// one.
//
// It refuses to guess and to ignore: an unknown key, a value that makes no
// sense and a key whose feature is not there yet are errors. It
// refuses to read a coop.toml that another user may have put in the way.
//
// Invariant: a Config that Load returned holds no value that its key's check
// would refuse.
package config
