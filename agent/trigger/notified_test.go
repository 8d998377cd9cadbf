package trigger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent/trigger"
)

// TestNotified: the id of a notification is the value at the path of the trigger, or the digest of the payload. A payload without such an id is no event.
func TestNotified(t *testing.T) {
	t.Parallel()
	byID := read(t, small+"on: postgres\npostgres: {channel: orders, id: order.0.id}\nprompt: go")
	byDigest := read(t, small+"on: postgres\npostgres: {channel: orders}\nprompt: go")
	for payload, want := range map[string]string{
		`{"order":[{"id":"a-1"}]}`: "a-1", `{"order":[ {"id" : -17 } ]}`: "-17", `{"order":[{"id":1.50}]}`: "1.50", ` {"order":[{"id":"x y"}]}`: "x y",
		`{"order":[{"id":true}]}`: "", `{"order":[{"id":null}]}`: "", `{"order":[{"id":""}]}`: "", `{"order":[{"id":{"a":1}}]}`: "", `{"order":[{"id":["a"]}]}`: "",
		`{"order":[{"id":"a\u200bb"}]}`: "", `{"order":[{"id":"a\nb"}]}`: "", `{"order":[{"id":"` + strings.Repeat("a", 257) + `"}]}`: "",
		`{"order":[]}`: "", `{"order":{"id":1}}`: "", `17`: "", ``: "", `{"order":[{"id":1,"id":2}]}`: "", `{"order":[{"id":1}]} {}`: "", `{"order":`: "", "{\"order\":[{\"id\":\"\xff\"}]}": "",
	} {
		e, err := byID.Notified(payload)
		var refused *trigger.RefusedError
		if want == "" && !errors.As(err, &refused) || want != "" && (err != nil || e.ID != want || string(e.Data) != payload) {
			t.Errorf("%s: %q, %v, want %q", payload, e.ID, err, want)
		}
		// The reason is shown and logged.
		if err != nil && strings.Contains(err.Error(), "200b") {
			t.Errorf("%s: the reason has a value: %v", payload, err)
		}
	}
	seen := map[string]bool{}
	for _, payload := range []string{`1`, `1.0`, `"a"`, `{}`, `{ }`, `null`} {
		e, err := byDigest.Notified(payload)
		again, _ := byDigest.Notified(payload)
		if err != nil || len(e.ID) != 64 || seen[e.ID] || again.ID != e.ID {
			t.Errorf("%s: %q, %v", payload, e.ID, err)
		}
		seen[e.ID] = true
	}
	if _, err := byDigest.Notified("order 17"); err == nil {
		t.Error("a text that is not JSON is an event")
	}
}
