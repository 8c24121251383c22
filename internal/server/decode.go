package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	maxBody     = 8 << 20
	maxExecBody = 16 << 20 // stdin may be in it
	bodyTimeout = 30 * time.Second
)

// decodeBody reads one JSON object into v, a pointer to a struct. Nothing is
// guessed: an unknown field, a field given twice, a wrong type or bytes after
// the object are errors that name what is wrong.
func decodeBody(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	b, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return sandbox.Errorf(sandbox.Invalid, "the request needs a JSON body")
	}
	return decodeStrict(b, v)
}

// decodeOptional is decodeBody where leaving the body out keeps v as it is.
func decodeOptional(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := readBody(w, r, maxBody)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return err
	}
	return decodeStrict(b, v)
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if err := checkContentType(r); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, bodyError(&http.MaxBytesError{Limit: limit})
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // unsupported only in tests without a connection
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, bodyError(err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	return b, nil
}

func checkContentType(r *http.Request) error {
	ct := r.Header.Get("Content-Type")
	if ct == "" || ct == "application/json" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(ct); err != nil || kind != "application/json" {
		return sandbox.Errorf(sandbox.Invalid, "content type %.64q is not application/json", ct).
			WithHint("with curl: -H 'Content-Type: application/json'")
	}
	return nil
}

// bodyError says why a body could not be read.
func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return sandbox.Errorf(sandbox.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return sandbox.Errorf(sandbox.Timeout, "the body did not arrive in time")
	}
	return sandbox.Errorf(sandbox.Invalid, "read body: %w", err)
}

func decodeStrict(b []byte, v any) error {
	if !utf8.Valid(b) {
		// encoding/json would put U+FFFD in place of the bytes.
		return sandbox.Errorf(sandbox.Invalid, "the body is not UTF-8")
	}
	if decodeQuick(b, v) {
		return nil
	}
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return syntaxError(err)
	}
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return sandbox.Errorf(sandbox.Invalid, "the body must be a JSON object")
	}
	if err := checkValue("", reflect.TypeOf(v).Elem(), raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return sandbox.Errorf(sandbox.Invalid, "body: %w", err)
	}
	return nil
}

func syntaxError(err error) error {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return sandbox.Errorf(sandbox.Invalid, "the body is not JSON: %w at byte %d", err, se.Offset)
	}
	return sandbox.Errorf(sandbox.Invalid, "the body is not JSON: %w", err)
}

// checkValue walks raw along type t and reports the first thing that does not
// fit, by its path. encoding/json alone names neither the unknown field's
// neighbours nor the field whose own UnmarshalJSON refused.
func checkValue(path string, t reflect.Type, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	custom := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch {
	case custom:
		return checkLeaf(path, t, raw)
	case t.Kind() == reflect.Pointer:
		return checkValue(path, t.Elem(), raw)
	case bytes.Equal(raw, []byte("null")):
		return nil // as if it had been left out
	case t.Kind() == reflect.Struct:
		return checkObject(path, raw, func(key string) (reflect.Type, error) { return field(path, t, key) })
	case t.Kind() == reflect.Map:
		return checkObject(path, raw, func(string) (reflect.Type, error) { return t.Elem(), nil })
	case t.Kind() == reflect.Slice:
		return checkList(path, t, raw)
	}
	return checkLeaf(path, t, raw)
}

func checkObject(path string, raw json.RawMessage, typeOf func(key string) (reflect.Type, error)) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return wrongType(path, "an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return syntaxError(err)
		}
		key, _ := tok.(string) // the decoder has checked the syntax already
		if seen[key] {
			return sandbox.Errorf(sandbox.Invalid, "field %.64q stands twice in the body", join(path, key))
		}
		seen[key] = true
		t, err := typeOf(key)
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return syntaxError(err)
		}
		if err := checkValue(join(path, key), t, value); err != nil {
			return err
		}
	}
	return nil
}

func checkList(path string, t reflect.Type, raw json.RawMessage) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return wrongType(path, "a list")
	}
	for i, item := range items {
		if err := checkValue(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item); err != nil {
			return err
		}
	}
	return nil
}

func checkLeaf(path string, t reflect.Type, raw json.RawMessage) error {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return wrongType(path, kindName(t)) // without the value: it may be a secret
	}
	return sandbox.Errorf(sandbox.Invalid, "field %.64q: %s", path, shorten(err.Error(), 128))
}

func wrongType(path, want string) error {
	return sandbox.Errorf(sandbox.Invalid, "field %.64q must be %s", path, want)
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a " + t.Kind().String()
}

// field finds the type of a struct's field by its JSON name, which must match
// exactly, or names the nearest one.
func field(path string, t reflect.Type, key string) (reflect.Type, error) {
	known := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		name := jsonName(t.Field(i))
		if name == key {
			return t.Field(i).Type, nil
		}
		known = append(known, join(path, name))
	}
	err := sandbox.Errorf(sandbox.Invalid, "unknown field %.64q", join(path, key))
	return nil, err.WithHint("%s", didYouMean(join(path, key), known))
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// checkQuery refuses parameters the endpoint does not have, and ones given
// twice that make no sense twice.
func checkQuery(r *http.Request, params []param) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	known := make([]string, 0, len(params))
	for _, p := range params {
		known = append(known, p.name)
		if len(q[p.name]) > 1 && !p.repeat {
			return sandbox.Errorf(sandbox.Invalid, "parameter %q is given twice", p.name)
		}
		if p.required && q.Get(p.name) == "" {
			return sandbox.Errorf(sandbox.Invalid, "parameter %q is missing", p.name)
		}
	}
	for name := range q {
		if !slices.Contains(known, name) {
			return sandbox.Errorf(sandbox.Invalid, "unknown parameter %.64q", name).WithHint("%s", didYouMean(name, known))
		}
	}
	return nil
}
