package capability

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the pause that the header Retry-After of a response names. ok is false if there is none that
// can be read. A date is compared with the Date of the response: both come from the clock of the service.
func RetryAfter(h http.Header) (pause time.Duration, ok bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second, true //nolint:gosec // bounded
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil || !at.After(from) {
		return 0, false
	}
	return at.Sub(from), true
}
