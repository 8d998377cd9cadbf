package heartbeat_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

const liveSecret = "Xq7-16C7e42F292c6912E7710c838347Ae178B4a"

func TestReportsHoldNoSecret(t *testing.T) {
	t.Parallel()
	live := &fingerprint.Set{}
	if err := live.Add("token", []byte(liveSecret)); err != nil {
		t.Fatal(err)
	}
	ctx, latest, _ := heartbeat.Reporting(t.Context(), live)
	heartbeat.Progress{}.Report(ctx, toolspec.Progress{Done: 1, Text: "sending " + liveSecret})
	if p := latest.Load(); p == nil || p.Text != "sending [redacted]" || p.Done != 1 {
		t.Errorf("reported %+v", p)
	}
}
