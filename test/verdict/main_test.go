package main

import (
	"strings"
	"testing"
)

const stream = `{"Action":"output","Package":"github.com/coop-dev/coop/a","Test":"TestNeeds","Output":"needs root\n"}
{"Action":"skip","Package":"github.com/coop-dev/coop/a","Test":"TestNeeds"}
{"Action":"skip","Package":"github.com/coop-dev/coop/internal/review","Test":"TestChild"}
{"Action":"skip","Package":"github.com/coop-dev/coop/empty"}
{"Action":"pass","Package":"github.com/coop-dev/coop/a","Elapsed":1.5}
`

func judge(t *testing.T, text string, strict bool) (string, bool) {
	t.Helper()
	var b strings.Builder
	v := &verdict{out: &b, strict: strict, said: map[string][]string{}}
	if err := v.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	good := v.good()
	return b.String(), good
}

func TestASkipFailsOnlyInCI(t *testing.T) {
	out, good := judge(t, stream, true)
	if good || !strings.Contains(out, "CI does not accept: a TestNeeds") || !strings.Contains(out, "needs root") {
		t.Errorf("%v\n%s", good, out)
	}
	if out, good = judge(t, stream, false); !good || !strings.Contains(out, "ok    a") {
		t.Errorf("%v\n%s", good, out)
	}
}

func TestAFailureIsShown(t *testing.T) {
	out, good := judge(t, `{"Action":"output","Package":"p","Test":"T","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"T"}
go: something about a build
`, false)
	if good || !strings.Contains(out, "FAIL  p T\nwhy\n") || !strings.Contains(out, "about a build") {
		t.Errorf("%v\n%s", good, out)
	}
}
