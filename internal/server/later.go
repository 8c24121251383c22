package server

import (
	"net/http"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// planned is an endpoint of the contract that is not there yet. It answers
// `unsupported`, so that nobody takes it for a typing mistake. An empty method
// stands for all of them.
type planned struct {
	method, path string
}

func later() []planned {
	one := func(method, tail string) planned { return planned{method, api.Prefix + "/sandboxes/{id}/" + tail} }
	list := []planned{
		one("POST", "freeze"), one("POST", "thaw"), one("POST", "extend"),
		one("POST", "exec/stream"),
		one("POST", "shells"), one("GET", "shells"), one("DELETE", "shells/{name}"),
		one("POST", "processes"), one("GET", "processes/{pid}"), one("GET", "processes/{pid}/logs"),
		one("DELETE", "files"), one("GET", "files/list"), one("POST", "files/mkdir"), one("POST", "files/rename"),
		one("GET", "archive"), one("PUT", "archive"),
		one("GET", "stats"),
		{"GET", api.Prefix + "/events"},
		{"GET", "/metrics"},
	}
	for _, family := range []string{"/pools", "/tokens"} {
		list = append(list, planned{"", api.Prefix + family}, planned{"", api.Prefix + family + "/{rest...}"})
	}
	return list
}

func (p planned) refuse(_ http.ResponseWriter, r *http.Request) error {
	return sandbox.Errorf(sandbox.Unsupported, "%.16s %s is not there yet", r.Method, p.path).
		WithHint("a newer coop may have it; `coop version` shows this one")
}
