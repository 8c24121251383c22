package server

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/coop-dev/coop/api"
)

type schema = map[string]any

// schemas collects the named ones of the document, by name.
type schemas map[string]schema

func (s schemas) of(v any) schema { return s.ofType(reflect.TypeOf(v)) }

func (s schemas) ofType(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return schema{} // anything
	case reflect.TypeFor[api.Duration]():
		return schema{"type": "string", "description": "such as 30s; 0 is none"}
	case reflect.TypeFor[api.Size]():
		return schema{"type": []string{"integer", "string"}, "description": "bytes, or such as 512MiB"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Struct:
		return s.ref(t)
	case reflect.Slice:
		return schema{"type": "array", "items": s.ofType(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Interface:
		return schema{} // anything
	}
	panic("no schema for " + t.String()) // a new kind of field in package api; the tests run into it
}

// ref names a struct, defining it on first use.
func (s schemas) ref(t reflect.Type) schema {
	name := schemaName(t)
	if _, ok := s[name]; !ok {
		s[name] = schema{} // so that a type within itself ends
		s[name] = s.object(t)
	}
	return schema{"$ref": "#/components/schemas/" + name}
}

func (s schemas) object(t reflect.Type) schema {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		properties[jsonName(f)] = s.ofType(f.Type)
		if !strings.Contains(f.Tag.Get("json"), ",omitempty") {
			required = append(required, jsonName(f))
		}
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

// schemaName writes List[…api.Sandbox] as SandboxList.
func schemaName(t reflect.Type) string {
	name, arg, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	return strings.TrimSuffix(arg[strings.LastIndexByte(arg, '.')+1:], "]") + name
}
