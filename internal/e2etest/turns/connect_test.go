package turns

import (
	"context"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/worker"
)

// TestConnect: a program without a worker can make offers and read large results with the configuration of a worker. Of workers of other namespaces that
// share the database, it offers nothing.
func TestConnect(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	big := strings.Repeat("x", 2*toolspec.MaxInline)
	w.Work(worker.Tools(e2etest.Tool("test__echo", e2etest.Echo),
		e2etest.Tool("test__big", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: big}, nil
		})))
	e2etest.Query[int](w, `
		WITH elsewhere AS (INSERT INTO workers (worker_id, namespace) VALUES ('elsewhere', 'elsewhere')),
			spec AS (INSERT INTO tool_specs (tool_id, digest, spec)
				SELECT 'test__elsewhere', digest, replace(spec::text, 'test__echo', 'test__elsewhere')::json FROM tool_specs WHERE tool_id = 'test__echo' RETURNING digest)
		INSERT INTO worker_tools (worker_id, tool_id, digest) SELECT 'elsewhere', 'test__elsewhere', digest FROM spec RETURNING 1`)
	connected, closed, err := worker.Connect(t.Context(), w.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	k := turnClient{Client: connected, offer: newTurnClient(w, openai.Codec{}, 2).offer}
	reply, messages := k.take(t, k.turn("t1", openai.Codec{}), interleaved(wanted{"c1", "test__big", `{}`}))
	if reply.Outcomes[0].Result.OutputRef == "" || !strings.Contains(messages[1], "output_ref") || len(messages[1]) < 16<<10 ||
		len(messages[1]) > 40<<10 {
		t.Errorf("the model is told %d bytes: %.200s", len(messages[1]), messages[1])
	}
	again, err := connected.Offer(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor},
		pawl.OfferOptions{Codec: openai.Codec{}})
	if err != nil || e2etest.AsJSON(again) != e2etest.AsJSON(k.offer) {
		t.Errorf("offered is %+v, %v", again, err)
	}
	none := w.Config()
	none.DatabaseURL = ""
	if _, _, err := worker.Connect(t.Context(), none); err == nil {
		t.Error("it connects to no database")
	}
}
