// Package api is Coop's wire format: the JSON types of /api/v1, the error
// codes with their HTTP and exit statuses, and the tagged frames of attach
// streams. It imports only the standard library, so that other people's
// programs can.
//
// Fields may be added; none is renamed or changes its meaning.
package api

// Prefix is the path under which every endpoint lives.
const Prefix = "/api/v1"
