package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// mostDays is the maximum of a time span, in days: a hundred years, which is in effect no limit.
const mostDays = 36_500

// ParseTimespan parses the value of a flag that is a time span: in Go's notation or in whole
// days, from one second to mostDays days.
func ParseTimespan(flag, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 31)
		d = time.Duration(min(n, mostDays+1)) * 24 * time.Hour //nolint:gosec // bounded
	}
	if err != nil || d < time.Second || d > mostDays*24*time.Hour {
		return 0, usageError{fmt.Errorf("%s is a time from 1s to %dd, such as 8h or 30d", flag, mostDays)}
	}
	return d, nil
}
