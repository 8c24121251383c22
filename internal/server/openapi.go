package server

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/api"
)

var pathParam = regexp.MustCompile(`\{([a-z]+)\}`)

// openAPI writes the OpenAPI 3.1 document of the routes.
func openAPI(version string) []byte {
	schemas := schemas{}
	paths := map[string]map[string]any{}
	for _, rt := range routes() {
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]any{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = operation(rt, schemas)
	}
	doc := map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Coop", "version": version,
			"description": "Sandboxes for coding agents. Fields and parameters that are not listed here are refused.",
		},
		"servers":    []any{map[string]any{"url": api.Prefix}},
		"paths":      paths,
		"components": map[string]any{"schemas": schemas},
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // maps of strings: a mistake in this file
	}
	return b
}

func operation(rt route, s schemas) map[string]any {
	success := map[string]any{"description": http.StatusText(rt.status)}
	if rt.answer != nil {
		success["content"] = content(rt.answer, s)
	}
	responses := map[string]any{
		strconv.Itoa(rt.status): success,
		"default":               map[string]any{"description": "Error", "content": content(api.ErrorBody{}, s)},
	}
	if rt.id == "openTerminal" {
		responses["200"] = map[string]any{"description": "The live shell that reuse found", "content": content(rt.answer, s)}
	}
	if rt.id == "createSandbox" {
		responses["200"] = map[string]any{"description": "The sandbox that this Idempotency-Key made before", "content": content(rt.answer, s)}
	}
	op := map[string]any{
		"operationId": rt.id, "summary": rt.summary, "responses": responses, "parameters": parameters(rt),
	}
	if rt.body != nil {
		op["requestBody"] = map[string]any{"required": !rt.optional, "content": content(rt.body, s)}
	}
	return op
}

func content(v any, s schemas) map[string]any {
	if v == (octets{}) {
		return map[string]any{"application/octet-stream": map[string]any{}}
	}
	if l, ok := v.(lines); ok {
		return map[string]any{"application/x-ndjson": map[string]any{"schema": s.of(l.of)}}
	}
	return map[string]any{"application/json": map[string]any{"schema": s.of(v)}}
}

func parameters(rt route) []any {
	list := []any{}
	add := func(name, in, kind, summary string, required bool) {
		list = append(list, map[string]any{
			"name": name, "in": in, "description": summary, "required": required, "schema": map[string]any{"type": kind},
		})
	}
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		add(m[1], "path", "string", "", true)
	}
	for _, p := range rt.query {
		add(p.name, "query", p.kind, p.summary, p.required)
	}
	if rt.id == "createSandbox" {
		add(idempotencyHeader, "header", "string", "the same key and body give the same sandbox", false)
	}
	return list
}
