package server

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestQuickTakesTheOrdinary(t *testing.T) {
	for _, body := range []string{
		`{}`,
		` { } `,
		`{"command":"/bin/true","args":[]}`,
		`{"command":"sh","args":["-c","echo \"a\\b\" \u00e9"],"env":{"A":"1","B":""},"timeoutMs":-5,"interactive":true}`,
		"{ \"command\" :\n\"x\" , \"workingDir\"\t:\"/\" }\r\n",
	} {
		var got, want api.ExecRequest
		if !decodeQuick([]byte(body), &got) {
			t.Errorf("%s goes the slow way", body)
		}
		if err := json.Unmarshal([]byte(body), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v, %v", body, got, want, err)
		}
	}
}

// TestQuickLeavesTheRest: what is wrong, and what is unusual.
func TestQuickLeavesTheRest(t *testing.T) {
	for _, body := range []string{
		``, `[]`, `"x"`, `{`, `{"command"`, `{"command":`, `{"command":"x"`, `{"command":"x",}`, `{"command":"x"}}`, `{"command":"x"} x`,
		`{"Command":"x"}`, `{"comm\u0061nd":"x"}`, `{"unknown":"x"}`, `{"":"x"}`,
		`{"command":"x","command":"y"}`, `{"env":{"A":"1","A":"2"}}`,
		`{"command":null}`, `{"command":7}`, `{"args":"x"}`, `{"args":["x",7]}`, `{"args":["x",]}`, `{"args":[,]}`, `{"args":null}`, `{"env":[]}`, `{"env":{"A":1}}`,
		`{"timeoutMs":"5"}`, `{"timeoutMs":1.5}`, `{"timeoutMs":1e3}`, `{"timeoutMs":-}`, `{"timeoutMs":1-2}`, `{"timeoutMs":99999999999999999999}`,
		`{"interactive":"true"}`, `{"interactive":tru}`, `{"command":"\x"}`, `{"command":"` + "\n" + `"}`, `{"command":"\`,
		`{"env":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":""}}`,
	} {
		var got api.ExecRequest
		if decodeQuick([]byte(body), &got) {
			t.Errorf("%s was taken: %+v", body, got)
		}
	}
}

// FuzzQuick: whatever the quick way takes, the thorough way takes too, and finds
// the same in it.
func FuzzQuick(f *testing.F) {
	f.Add([]byte(`{"command":"sh","args":["-c","x"],"env":{"A":"1"},"timeoutMs":5,"interactive":true}`))
	f.Add([]byte(`{"command":"a\"b","stdin":"\u0000"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want api.ExecRequest
		if !decodeQuick(b, &got) {
			return
		}
		if err := checkValue("", reflect.TypeFor[api.ExecRequest](), b); err != nil {
			t.Fatalf("%q was taken: %v", b, err)
		}
		if err := json.Unmarshal(b, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v, %v", b, got, want, err)
		}
	})
}
