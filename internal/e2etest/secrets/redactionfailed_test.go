package secrets

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// pieces is an output of several strings.
type pieces struct {
	Pieces []string `json:"pieces"`
}

// TestRedactionFailed (ER-07): the strings of an output have a secret only together, so that no single string can be masked. The call ends with
// redaction_failed, and the output is in no answer, no row and no history. The tool has had its effect, so it does not run again.
func TestRedactionFailed(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	for name, padding := range map[string]int{"small": 0, "large": 2 * toolspec.MaxInline} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.T = t
			secret, id := "pk-"+string(e2etest.NewCanary()), "test__"+name
			w.Secrets.Never(name, []byte(secret))
			runs := 0
			def := e2etest.Tool(id, nil, e2etest.Idempotent, e2etest.Attempts(3)).Definition()
			def.Redaction.Allow = []string{"/pieces"}
			w.Work(worker.Secret(name, []byte(secret)), worker.Tools(toolspec.Define(def,
				func(context.Context, e2etest.In, toolspec.Call) (pieces, error) {
					runs++
					half := len(secret) / 2
					return pieces{[]string{strings.Repeat("a", padding), secret[:half], secret[half:]}}, nil
				})))
			inv := e2etest.Invocation(name, id, `{}`)
			r := w.Invoke(inv)
			e2etest.WantCode(t, r, toolspec.CodeRedactionFailed)
			if r.Value != nil || r.OutputRef != "" || runs != 1 {
				t.Errorf("the result has the value %s and the output %q after %d runs", r.Value, r.OutputRef, runs)
			}
			if n := e2etest.Scalar[int](&w, `SELECT count(*) FROM payloads`); n != 0 {
				t.Errorf("%d outputs are stored", n)
			}
		})
	}
}
