package tools_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

type currentTime struct {
	Time     string `json:"time"`
	UnixMs   int64  `json:"unixMs"`
	Timezone string `json:"timezone"`
}

func TestGetCurrentTime(t *testing.T) {
	winter := time.Date(2026, 1, 2, 3, 4, 5, 6_999_999, time.UTC)
	summer := time.Date(2026, 7, 1, 23, 30, 0, 0, time.FixedZone("host", 3600))
	for _, c := range []struct {
		at   time.Time
		args map[string]any
		want currentTime
	}{
		{winter, nil, currentTime{"2026-01-02T03:04:05.006Z", 1767323045006, "UTC"}},
		{winter, map[string]any{"timezone": "UTC"}, currentTime{"2026-01-02T03:04:05.006Z", 1767323045006, "UTC"}},
		{winter, map[string]any{"timezone": "Europe/Berlin"}, currentTime{"2026-01-02T04:04:05.006+01:00", 1767323045006, "Europe/Berlin"}},
		{winter, map[string]any{"timezone": "Asia/Kolkata"}, currentTime{"2026-01-02T08:34:05.006+05:30", 1767323045006, "Asia/Kolkata"}},
		{summer, nil, currentTime{"2026-07-01T22:30:00.000Z", 1782945000000, "UTC"}},
		{summer, map[string]any{"timezone": "Europe/Berlin"}, currentTime{"2026-07-02T00:30:00.000+02:00", 1782945000000, "Europe/Berlin"}},
	} {
		answer := pawltest.Call{Tool: tools.GetCurrentTime(), Args: c.args, Now: c.at}.Run(t)
		var got currentTime
		if err := json.Unmarshal(answer.Value, &got); err != nil || got != c.want {
			t.Errorf("%v: %+v, %+v, want %+v", c.args, got, answer.Result, c.want)
		}
	}
	for _, zone := range []string{"Mars/Base", "Local", "../../etc/passwd", "/etc/localtime", "europe/nowhere"} {
		got := pawltest.Call{Tool: tools.GetCurrentTime(), Args: map[string]any{"timezone": zone}, Now: winter}.Run(t).Result
		if got.ErrorCode != toolspec.CodeExecution || got.SafeMessage != "Error executing tool: there is no such time zone" {
			t.Errorf("%s: %+v", zone, got)
		}
	}
}
