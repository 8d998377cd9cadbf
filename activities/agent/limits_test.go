package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/provider"
)

// TestEstimateInput: four bytes are a token, and the content of a file is 1500 tokens, unless it has fewer bytes. A text that looks like a file counts in full.
func TestEstimateInput(t *testing.T) {
	text := json.RawMessage(`{"text":"` + strings.Repeat("a word ", 1000) + `"}`)
	image := json.RawMessage(`{"data":"` + strings.Repeat("iVBORw0K+/", 100_000) + `=="}`)
	escaped := json.RawMessage(`{"text":"{\"data\":\"` + strings.Repeat("iVBORw0K+/", 100_000) + `==\"}"}`)
	small := json.RawMessage(`{"data":"` + strings.Repeat("iVBORw0K+/", 200) + `=="}`)
	for _, tc := range []struct {
		messages []json.RawMessage
		want     int64
	}{
		{[]json.RawMessage{escaped}, 50 + 250_007}, {nil, 50}, {[]json.RawMessage{text}, 50 + 1752}, {[]json.RawMessage{image}, 50 + 1500}, {[]json.RawMessage{small}, 50 + 503}, {[]json.RawMessage{image, text, image}, 50 + 2*1500 + 1752},
	} {
		r := provider.Request{System: json.RawMessage(strings.Repeat("s", 100)), Tools: json.RawMessage(strings.Repeat("t", 100)), Messages: tc.messages}
		if got := estimateInput(r); got < tc.want-2 || got > tc.want+2 {
			t.Errorf("%d messages: %d tokens, want %d", len(tc.messages), got, tc.want)
		}
	}
}
