package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

type object = map[string]any

func document(t *testing.T) object {
	t.Helper()
	var doc object
	must(t, json.Unmarshal(openAPI("1"), &doc))
	return doc
}

func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for _, p := range path {
		next, ok := v.(object)[p]
		if !ok {
			t.Fatalf("%s is missing on the way to %v", p, path)
		}
		v = next
	}
	return v
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	doc := document(t)
	ids := map[string]bool{}
	for _, rt := range routes() {
		op := at(t, doc, "paths", rt.path, strings.ToLower(rt.method)).(object)
		at(t, op, "responses", strconv.Itoa(rt.status))
		at(t, op, "responses", "default", "content", "application/json", "schema")
		if ids[rt.id] || rt.id == "" || rt.summary == "" {
			t.Errorf("%s %s: operation id %q or its summary", rt.method, rt.path, rt.id)
		}
		ids[rt.id] = true
	}
	for _, p := range later() {
		if ops, ok := doc["paths"].(object)[strings.TrimPrefix(p.path, api.Prefix)].(object); ok && ops[strings.ToLower(p.method)] != nil {
			t.Errorf("%s %s is not there yet, but in the document", p.method, p.path)
		}
	}
}

func TestOpenAPIRefsResolve(t *testing.T) {
	doc := document(t)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				resolve(t, doc, ref)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
}

func resolve(t *testing.T, doc object, ref string) object {
	t.Helper()
	return at(t, doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(object)
}

// Every JSON answer of a handler must be what the document says.
func TestAnswersFollowTheDocument(t *testing.T) {
	h := newHarness(t, func(c *Config) {
		c.Doctor = func(context.Context) ([]api.Check, error) {
			return []api.Check{{Name: "x", OK: true, Detail: "d"}}, nil
		}
		c.Bases = &fakeBases{}
		c.Checks = func() []api.Check { return []api.Check{{Name: "y"}} }
		c.Terminals = newFakeTerminals(t, c.Engine.(*fakeEngine))
		c.Images = &fakeImages{}
	})
	must(t, h.engine.makeShelf(t.TempDir()))
	doc := document(t)
	bodies := map[string]string{
		"exec": `{"command":"echo a"}`, "createSandbox": `{"scopePath":"/src","limits":{"memory":"64MiB"}}`, "discard": `{"files":["a"]}`,
		"createVolume": `{"name":"box"}`, "createWorkspace": `{"name":"box"}`, "promoteCaches": `{"sandbox":"box"}`, "prune": `{"kind":"volumes"}`, "baseStatus": `{"build":{"run":["x"]}}`,
	}
	queries := map[string]string{"inspectImage": "?ref=x", "deleteImage": "?ref=x"}
	checked := 0
	for _, rt := range routes() {
		if _, stream := rt.answer.(lines); stream || rt.answer == nil || rt.answer == (octets{}) {
			continue
		}
		path := strings.NewReplacer("{id}", "box", "{name}", "box", "{n}", "0").Replace(rt.path)
		a := h.do(rt.method, api.Prefix+path+queries[rt.id], bodies[rt.id]).want(rt.status)
		schema := at(t, doc, "paths", rt.path, strings.ToLower(rt.method), "responses", strconv.Itoa(rt.status), "content", "application/json", "schema")
		var v any
		must(t, json.Unmarshal(a.body, &v))
		for _, e := range validate(t, doc, schema.(object), v, rt.id) {
			t.Error(e)
		}
		checked++
	}
	if checked < 10 {
		t.Errorf("only %d answers were checked", checked)
	}
	var v any
	must(t, json.Unmarshal(h.get("/nowhere").want(http.StatusNotFound).body, &v))
	for _, e := range validate(t, doc, object{"$ref": "#/components/schemas/ErrorBody"}, v, "error") {
		t.Error(e)
	}
}

func TestValidatorFindsFaults(t *testing.T) {
	doc := document(t)
	ref := object{"$ref": "#/components/schemas/Process"}
	for _, v := range []any{object{}, object{"pid": "x"}, 1.5, object{"unknown": 1.0}, nil} {
		if len(validate(t, doc, ref, v, "x")) == 0 {
			t.Errorf("%v passes", v)
		}
	}
}

// validate knows as much of JSON Schema as the document uses. Properties that
// the schema does not list are faults here, so that the document is complete.
func validate(t *testing.T, doc, schema object, v any, path string) (faults []string) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		return validate(t, doc, resolve(t, doc, ref), v, path)
	}
	if !hasType(schema["type"], v) {
		return []string{fmt.Sprintf("%s: %v is not of type %v", path, v, schema["type"])}
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if items, ok := schema["items"].(object); ok {
				faults = append(faults, validate(t, doc, items, x, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case object:
		faults = validateObject(t, doc, schema, v, path)
	}
	return faults
}

func validateObject(t *testing.T, doc, schema, v object, path string) (faults []string) {
	t.Helper()
	if schema["type"] == nil {
		return nil
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			faults = append(faults, fmt.Sprintf("%s.%s is missing", path, name))
		}
	}
	properties, _ := schema["properties"].(object)
	additional, _ := schema["additionalProperties"].(object)
	for name, x := range v {
		sub, ok := properties[name].(object)
		if !ok {
			sub = additional
		}
		if sub == nil {
			faults = append(faults, fmt.Sprintf("%s.%s is not in the document", path, name))
			continue
		}
		faults = append(faults, validate(t, doc, sub, x, path+"."+name)...)
	}
	return faults
}

func hasType(want, v any) bool {
	list, ok := want.([]any)
	if !ok {
		list = []any{want}
	}
	got := "null"
	switch v := v.(type) {
	case object:
		got = "object"
	case []any:
		got = "array"
	case string:
		got = "string"
	case bool:
		got = "boolean"
	case float64:
		got = "number"
		if v == float64(int64(v)) && slices.Contains(list, any("integer")) {
			got = "integer"
		}
	}
	return want == nil || slices.Contains(list, any(got))
}
