package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written as a number or as "512MiB".
type Size int64

// ParseSize reads 4096, 10k, 512MiB, 4GiB, 1.5GB: binary with i, decimal
// without; a bare letter is binary, as ls and du have it.
func ParseSize(s string) (Size, error) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexAny(s, "0123456789.") + 1
	n, err := strconv.ParseFloat(strings.TrimSpace(s[:i]), 64)
	factor, ok := sizeFactor(strings.ToLower(strings.TrimSpace(s[i:])))
	if err != nil || !ok || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) || n*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size such as 512MiB", s)
	}
	return Size(n * factor), nil
}

func sizeFactor(unit string) (float64, bool) {
	exp := map[byte]float64{'k': 1, 'm': 2, 'g': 3, 't': 4, 'p': 5}
	if unit == "" || unit == "b" {
		return 1, true
	}
	e, ok := exp[unit[0]]
	if !ok {
		return 0, false
	}
	switch unit[1:] {
	case "", "ib":
		return math.Pow(1024, e), true
	case "b":
		return math.Pow(1000, e), true
	}
	return 0, false
}

// String writes a size the way a person would.
func (s Size) String() string {
	units := []string{"PiB", "TiB", "GiB", "MiB", "KiB"}
	for i, u := range units {
		if f := int64(1) << (10 * (5 - i)); int64(s) >= f && int64(s)%f == 0 {
			return strconv.FormatInt(int64(s)/f, 10) + u
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// UnmarshalJSON accepts a number of bytes or a string with a unit.
func (s *Size) UnmarshalJSON(b []byte) error {
	text, isString, err := numberOrString(b)
	if err != nil {
		return err
	}
	if !isString {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is not a number of bytes", text)
		}
		*s = Size(n)
		return nil
	}
	*s, err = ParseSize(text)
	return err
}

// Duration is a length of time, written as "30s"; "0" is none.
type Duration time.Duration

// MarshalJSON writes "1h30m0s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON accepts "30s" and "0"; a bare number has no unit and is refused.
func (d *Duration) UnmarshalJSON(b []byte) error {
	text, isString, err := numberOrString(b)
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if (!isString && text != "0") || err != nil || v < 0 {
		return fmt.Errorf("%s is not a duration such as \"30s\"", text)
	}
	*d = Duration(v)
	return nil
}

func numberOrString(b []byte) (text string, isString bool, err error) {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '"' {
		err = json.Unmarshal(b, &text)
		return text, true, err
	}
	return string(b), false, nil
}
