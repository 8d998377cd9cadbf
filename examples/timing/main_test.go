package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestTiming: the hook stands around the tool, logs how it ended and changes nothing.
func TestTiming(t *testing.T) {
	t.Parallel()
	for args, ok := range map[string]bool{`{}`: true, `{"timezone":"Mars/Base"}`: false} {
		var log bytes.Buffer
		got := pawltest.Call{Args: args, Hooks: []hook.Hook{timing(slog.New(slog.NewTextHandler(&log, nil)))}}.Run(t)
		if got.Result.OK != ok || !strings.Contains(log.String(), `msg="tool timed" toolId=core__get_current_time`) ||
			strings.Contains(log.String(), "ok=true") != ok {
			t.Errorf("%s: %+v, logged %s", args, got.Result, log.String())
		}
	}
}
