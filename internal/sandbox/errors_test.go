package sandbox

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
)

func TestErrorCarriesItsCause(t *testing.T) {
	err := Errorf(Unavailable, "mount: %w", syscall.EPERM)
	if err.Error() != "mount: operation not permitted" || err.Code != Unavailable {
		t.Errorf("%v, code %s", err, err.Code)
	}
	if !errors.Is(err, syscall.EPERM) || errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if plain := Errorf(Invalid, "no %s", "cause"); plain.Unwrap() != nil {
		t.Errorf("a cause from nowhere: %v", plain.Unwrap())
	}
}

func TestHintsAndDetailsLeaveTheOriginalAlone(t *testing.T) {
	base := Errorf(Conflict, "taken")
	hinted := base.WithHint("choose %s", "another")
	one := hinted.WithDetail("field", "name")
	two := one.WithDetail("existing", "abc")
	if base.Hint != "" || base.Details != nil || hinted.Details != nil || len(one.Details) != 1 {
		t.Errorf("changed: %+v %+v %+v", base, hinted, one)
	}
	if two.Hint != "choose another" || two.Details["field"] != "name" || two.Details["existing"] != "abc" || two.Code != Conflict {
		t.Errorf("%+v", two)
	}
}

func TestCodeOf(t *testing.T) {
	gone := Errorf(Gone, "gone")
	for _, c := range []struct {
		err  error
		want Code
	}{
		{gone, Gone},
		{fmt.Errorf("delete: %w", gone), Gone},
		{errors.Join(io.EOF, gone), Gone},
		{Errorf(Conflict, "outer: %w", gone), Conflict}, // the one who says it last knows best
		{io.EOF, Internal},
		{nil, Internal},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v) = %s, want %s", c.err, got, c.want)
		}
	}
}
