package app

import (
	"errors"
	"testing"
	"time"
)

func TestTimespan(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "1d": day, "30d": 30 * day, "36500d": 36_500 * day, "876000h": 36_500 * day,
		"": 0, "0": 0, "0d": 0, "999ms": 0, "-1h": 0, "-1d": 0, "+1d": 0, "d": 0, "1.5d": 0, "1d12h": 0, "1 d": 0, "30": 0, "soon": 0,
		"36501d": 0, "876001h": 0, "2147483648d": 0, "106751992d": 0, "99999999999999999999d": 0,
	} {
		got, err := ParseTimespan("--since", text)
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if usage := (usageError{}); want == 0 && (!errors.As(err, &usage) || usage.Error() != "--since is a time from 1s to 36500d, such as 8h or 30d") || want != 0 && err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
