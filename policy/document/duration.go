package document

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Duration is a time in the notation of Go, or a whole number of days such as 7d. Decode writes it
// in the notation of Go.
type Duration string

// Value returns the time, or 0 if there is none.
func (d Duration) Value() time.Duration {
	value, _ := parseDuration(string(d))
	return value
}

// CacheTime is a Duration, or Never.
type CacheTime string

// Never forbids to cache values.
const Never CacheTime = "never"

// Value returns the time; 0 for Never.
func (t CacheTime) Value() time.Duration { return Duration(t).Value() }

// Brief returns d in the notation of Go without zeros at the end: 2h, not 2h0m0s.
func Brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// duration reads a duration, such as 90s, 1h30m or 7d.
func (r *reader) duration(n *yaml.Node, path string) Duration {
	const want = "a duration such as 90s, 1h30m or 7d"
	v, ok := r.Scalar(n, path, "!!str", want)
	if !ok {
		return ""
	}
	value, ok := parseDuration(v)
	switch {
	case !ok:
		r.Fail(n, path, "must be %s", want)
	case value < MinExpiry || value > MaxExpiry:
		r.Fail(n, path, "must be between 1s and 30d")
	case value%time.Second != 0:
		r.Fail(n, path, "must be whole seconds")
	default:
		return Duration(value.String())
	}
	return ""
}

// parseDuration parses the notation of Go, or a whole number of days. A text that is neither gives
// 0 and false.
func parseDuration(s string) (time.Duration, bool) {
	if days, found := strings.CutSuffix(s, "d"); found {
		n, err := strconv.ParseUint(days, 10, 8)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}
