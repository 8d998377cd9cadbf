package e2etest

import (
	"context"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/worker"
)

// TestConnect: a program without a worker offers, and reads large results, with a worker's configuration.
func TestConnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turnPolicy)
	big := strings.Repeat("x", 2*toolspec.MaxInline)
	w.work(worker.Tools(tool("test__echo", echo), tool("test__big", func(context.Context, in, toolspec.Call) (out, error) { return out{Text: big}, nil })))
	connected, closed, err := worker.Connect(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	k := taker{Client: connected, offer: w.takes(openai.Codec{}, 2).offer}
	reply, messages := k.take(t, k.turn("t1", openai.Codec{}), interleaved(wanted{"c1", "test__big", `{}`}))
	if reply.Outcomes[0].Result.OutputRef == "" || !strings.Contains(messages[1], "output_ref") || len(messages[1]) < 16<<10 || len(messages[1]) > 40<<10 {
		t.Errorf("the model is told %d bytes: %.200s", len(messages[1]), messages[1])
	}
	again, err := connected.Offer(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: actor}, pawl.OfferOptions{Codec: openai.Codec{}})
	if err != nil || asJSON(again) != asJSON(k.offer) {
		t.Errorf("offered is %+v, %v", again, err)
	}
	none := w.config()
	none.DatabaseURL = ""
	if _, _, err := worker.Connect(t.Context(), none); err == nil {
		t.Error("it connects to no database")
	}
}
