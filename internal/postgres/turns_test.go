package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// TestTurnIsWrittenOnce: when several programs write the same turn at the same time, and cut its text into different parts, the text and its end are stored
// once.
func TestTurnIsWrittenOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	text := strings.Repeat("the quick brown fox ", 50)
	together(4, func(n int) {
		step := 7 + 13*n
		for at := 0; at < len(text); at += step {
			part := text[at:min(at+step, len(text))]
			if err := b.Append(t.Context(), tenant, inRun, client.TurnEvent{Key: "one", Text: part, Offset: int64(at), OwnerID: "user:ann"}); err != nil {
				t.Error(err)
			}
		}
		if err := b.Append(t.Context(), tenant, inRun, client.TurnEvent{Key: "one", Done: true}); err != nil {
			t.Error(err)
		}
	})
	var got strings.Builder
	for e, err := range b.Watch(t.Context(), tenant, inRun, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == toolspec.RunDone {
			break
		}
		got.WriteString(e.Text)
	}
	if got.String() != text {
		t.Errorf("got %d bytes of text, want %d", got.Len(), len(text))
	}
	if n := value[int](b, `SELECT count(*) FROM run_events WHERE kind = 'done'`); n != 1 {
		t.Errorf("%d ends", n)
	}

	count := value[int](b, `SELECT count(*) FROM run_events`)
	for _, c := range []struct {
		name  string
		event client.TurnEvent
		added int
		want  error
	}{
		{"text after the end", client.TurnEvent{Key: "one", Text: "more", Offset: int64(len(text))}, 0, nil},
		{"text without its begin", client.TurnEvent{Key: "two", Text: "more", Offset: 1}, 0, client.ErrTextMissing},
		{"another turn", client.TurnEvent{Key: "three", Text: "again"}, 1, nil},
		{"text after a gap", client.TurnEvent{Key: "three", Text: "more", Offset: 6}, 0, client.ErrTextMissing},
		{"end of a turn with none", client.TurnEvent{Key: "four", Done: true}, 1, nil},
	} {
		err := b.Append(t.Context(), tenant, inRun, c.event)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		now := value[int](b, `SELECT count(*) FROM run_events`)
		if now != count+c.added {
			t.Errorf("%s: %d events were added, want %d", c.name, now-count, c.added)
		}
		count = now
	}
}
