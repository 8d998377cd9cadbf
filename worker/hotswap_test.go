package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/policy"
)

// TestHotSwap: core__trigger_hot_swap makes all workers read the active policy if they got no message of its
// activation, as after a restore of the database. Without the tool a worker looks once a minute.
func TestHotSwap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const allowed = rules + "    rules: [{tool: core__trigger_hot_swap, decision: allow}]\n"
	w.config.PolicyFile = w.file("policy.yaml", allowed)
	w.start().waitForLog(runs)
	w.start()
	w.until("both workers run", func() error {
		if n := strings.Count(w.log.String(), runs); n < 2 {
			return errors.New(w.log.String())
		}
		return nil
	})
	next, err := policy.Parse("next.yaml", []byte(strings.Replace(allowed, "mode: auto", "mode: yolo", 1)))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "LISTEN pawl_policy"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`INSERT INTO policies (digest, source) VALUES ($1, $2)`, `UPDATE policy_active SET digest = $1, activated_by = $2`} {
		value := "restore"
		if strings.HasPrefix(statement, "INSERT") {
			value = string(next.Source())
		}
		if _, err := conn.Exec(t.Context(), statement, next.Digest(), value); err != nil {
			t.Fatal(err)
		}
	}
	result, err := w.invoke("core__trigger_hot_swap", "swap", `{"source":"policy"}`)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Digest string }
	if err := json.Unmarshal(result.Value, &out); err != nil || out.Digest != next.Digest() {
		t.Errorf("the version in force is %q, want %q (%+v)", out.Digest, next.Digest(), result)
	}
	// The workers get the same notification as this connection.
	notified, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if _, err := conn.WaitForNotification(notified); err != nil {
		t.Fatal(err)
	}
	w.until("both workers have read the policy", func() error {
		if n := strings.Count(w.log.String(), `msg="policy changed" digest=`+next.Digest()); n < 2 {
			return errors.New(w.log.String())
		}
		return nil
	})
}
