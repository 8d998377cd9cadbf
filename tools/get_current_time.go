package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type getCurrentTimeIn struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"maxLength=64" jsonschema_description:"IANA name of the time zone to express the time in, such as Europe/Berlin. Default: UTC."`
}

type getCurrentTimeOut struct {
	Time     string `json:"time" jsonschema_description:"The current time in RFC 3339 with milliseconds and the zone's offset, such as 2026-03-29T14:05:06.789+02:00."`
	UnixMs   int64  `json:"unixMs" jsonschema_description:"The same instant in milliseconds since 1970-01-01T00:00:00Z."`
	Timezone string `json:"timezone" jsonschema_description:"The time zone that the time is expressed in."`
}

// GetCurrentTime is core__get_current_time: the present instant in a time zone.
// It needs capability.Clock.
func GetCurrentTime() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__get_current_time",
		Title: "Current time",
		Description: "Returns the current date and time. Use it whenever the answer depends on today's date or the time of day, " +
			"instead of guessing. Give a time zone to get local time there.",
		Version:      "1",
		Effect:       toolspec.ReadOnly,
		Risk:         toolspec.LowRisk,
		Fast:         true,
		Redaction:    toolspec.Redaction{Allow: []string{"/time", "/unixMs", "/timezone"}},
		Capabilities: []toolspec.CapabilityName{capability.ClockKey.Name()},
		Tags:         []string{"time"},
		Examples: []toolspec.Example{
			{Title: "the time in UTC", Args: `{}`},
			{Title: "the time in Berlin", Args: `{"timezone": "Europe/Berlin"}`},
		},
	}, getCurrentTime)
}

func getCurrentTime(_ context.Context, in getCurrentTimeIn, call toolspec.Call) (getCurrentTimeOut, error) {
	clock := capability.ClockKey.From(call)
	if in.Timezone == "" {
		in.Timezone = "UTC"
	}
	zone, err := clock.Zone(in.Timezone)
	if err != nil {
		return getCurrentTimeOut{}, explain(err)
	}
	now := clock.Now().In(zone)
	return getCurrentTimeOut{
		Time:     now.Format("2006-01-02T15:04:05.000Z07:00"),
		UnixMs:   now.UnixMilli(),
		Timezone: zone.String(),
	}, nil
}
