// Package server is Coop's HTTP surface: it turns requests into calls of the
// use cases and their results into the types of package api. It owns the
// routes and the OpenAPI document (one table for both), strict decoding, the
// error envelope, the pumps between a client and a running command, and both
// forms of attach streams (docs/streams.md).
//
// It refuses to decide anything about sandboxes, and it keeps no state that
// outlives a connection.
//
// Invariants: every answer is an api type or an api.ErrorBody with an
// X-Request-Id; nothing a client sent is silently ignored; a command whose
// client has vanished is killed, a terminal's program never; a slow client
// delays only its own command.
package server
