package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestDecodeStrict(t *testing.T) {
	for body, parts := range map[string]string{
		``:                                  "JSON",
		`null`:                              "object",
		`[]`:                                "object",
		`"x"`:                               "object",
		`{`:                                 "not JSON",
		`{} x`:                              "not JSON",
		`{}{}`:                              "not JSON",
		`{"name":"a"} `:                     "",
		`{"nmae":"a"}`:                      "unknown field \"nmae\"|did you mean name?",
		`{"Name":"a"}`:                      "unknown field \"Name\"|did you mean name?",
		`{"completelyDifferentThing":1}`:    "completelyDifferentThing|one of name, scopePath",
		`{"limits":{"memroy":1}}`:           "limits.memroy|limits.memory",
		`{"name":1}`:                        "\"name\" must be a string",
		`{"limits":{"cpu":"2"}}`:            "\"limits.cpu\" must be a number",
		`{"limits":{"pids":1.5}}`:           "\"limits.pids\" must be a whole number",
		`{"limits":[]}`:                     "\"limits\" must be an object",
		`{"limits":{"memory":"12 potato"}}`: "limits.memory|size",
		`{"limits":{"memory":null}}`:        "limits.memory",
		`{"ttl":30}`:                        "\"ttl\"|duration",
		`{"env":{"A":1}}`:                   "\"env.A\" must be a string",
		`{"env":[]}`:                        "\"env\" must be an object",
		`{"mounts":{}}`:                     "\"mounts\" must be a list",
		`{"mounts":[{"sorce":"x"}]}`:        "mounts[0].sorce|mounts[0].source",
		`{"security":{"readonlyRoot":1}}`:   "true or false",
		`{"name":"a","name":"b"}`:           "twice",
		`{"env":{"A":"1","A":"2"}}`:         "twice",
		"{\"name\":\"\xff\"}":               "UTF-8",
		`{"metadata":{"any":[{"x":null}]}}`: "",
		`{"name":null,"limits":null}`:       "",
	} {
		err := decodeStrict([]byte(body), &api.CreateRequest{})
		if parts == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Code != sandbox.Invalid {
			t.Errorf("%s: %v", body, err)
			continue
		}
		for part := range strings.SplitSeq(parts, "|") {
			if !strings.Contains(e.Message+"\n"+e.Hint, part) {
				t.Errorf("%s: %q is not in %q, %q", body, part, e.Message, e.Hint)
			}
		}
	}
}

func TestDecodeErrorsAreShortAndKeepSecrets(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, body := range []string{`{"` + long + `":1}`, `{"ttl":"` + long + `"}`, `{"env":{"` + long + `":1}}`} {
		if err := decodeStrict([]byte(body), &api.CreateRequest{}); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.400v", err)
		}
	}
	if err := decodeStrict([]byte(`{"env":{"TOKEN":12345678}}`), &api.CreateRequest{}); strings.Contains(err.Error(), "1234") {
		t.Error(err)
	}
}

func TestBodies(t *testing.T) {
	h := newHarness(t)
	h.post("/sandboxes", "").wantError(400, "invalid", "body")
	h.post("/sandboxes", "  \n").wantError(400, "invalid", "body")
	h.do("POST", "/api/v1/sandboxes", "{}", "Content-Type", "application/json; charset=utf-8").want(http.StatusCreated)
	h.do("POST", "/api/v1/sandboxes", "{}", "Content-Type", "application/x-www-form-urlencoded").wantError(400, "invalid", "application/json")
	h.do("POST", "/api/v1/sandboxes", "{}", "Content-Type", ";").wantError(400, "invalid", "application/json")
	space := strings.Repeat(" ", maxBody)
	h.post("/sandboxes", space+"{}").wantError(413, "too_large")
	h.post("/sandboxes/box/exec", space+`{"command":"true"}`).want(http.StatusOK)
	h.post("/sandboxes/box/exec", space+space+`{"command":"true"}`).wantError(413, "too_large")
}

func FuzzDecodeStrict(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","limits":{"memory":"1k"},"mounts":[{"source":"a","target":"b"}],"env":{"A":"b"},"ttl":"1s"}`, `{"a":`, `null`, `[{}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var strict api.CreateRequest
		if err := decodeStrict(body, &strict); err != nil {
			if sandbox.CodeOf(err) != sandbox.Invalid || len(err.Error()) > maxMessage {
				t.Fatalf("%v", err)
			}
			return
		}
		// What is accepted means the same to everybody else.
		var plain api.CreateRequest
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		a, _ := json.Marshal(strict)
		b, _ := json.Marshal(plain)
		if string(a) != string(b) {
			t.Fatalf("%s and %s", a, b)
		}
	})
}
