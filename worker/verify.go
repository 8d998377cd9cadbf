package worker

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/verify"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// maxLoggedFindings bounds the findings of one search that are logged.
const maxLoggedFindings = 100

// histories searches the histories in the namespace of the worker for secrets.
type histories struct {
	temporal client.Client
	config   Config
	sources  []fingerprint.Source
	log      *slog.Logger
}

var _ upkeep.Histories = histories{}

func verifier(c Config, a additions, n connections, store *postgres.Store, temporal client.Client, log *slog.Logger) *upkeep.Verifier {
	sources := []fingerprint.Source{configured{c, a}}
	if n.sealer != nil {
		sources = append(sources, broker.New(store, n.sealer, broker.Options{}))
	}
	return upkeep.NewVerifier(histories{temporal: temporal, config: c, sources: sources, log: log}, log)
}

// Verify searches the histories of the workflows that closed within the period of in, for the
// secrets of the configuration and of connections.
func (h histories) Verify(ctx context.Context, in contract.VerifyClosedIn) (out contract.VerifyClosedOut, err error) {
	out.SinceMs, out.UntilMs = in.SinceMs, in.UntilMs
	secrets := &fingerprint.Set{}
	plain, err := secrets.Load(ctx, h.sources...)
	if err != nil {
		return out, err
	}
	codec, err := h.config.Codec.PayloadCodec()
	if err != nil {
		return out, err
	}
	logged := 0
	v := verify.New(secrets, verify.Options{Codec: codec, Found: func(f verify.Finding) {
		if logged++; logged <= maxLoggedFindings {
			h.log.ErrorContext(ctx, "a secret stands in a history", "secret", f.Secret, "form", f.Form, "workflowId", f.WorkflowID,
				"runId", f.RunID, "eventId", f.EventID, "event", f.Event, "path", f.Path)
		}
	}})
	query := fmt.Sprintf("CloseTime >= '%s' AND CloseTime < '%s'", instant(in.SinceMs), instant(in.UntilMs))
	if err := v.Histories(ctx, h.temporal.WorkflowService(), namespaceOf(h.config), query); err != nil {
		if away(err) {
			err = errs.Transient(unanswered(serviceerror.ToStatus(err).Code().String()))
		}
		return out, err
	}
	r := v.Report()
	out.Secrets, out.TooPlain = secrets.Len(), len(plain)
	out.Workflows, out.Events, out.Findings, out.Unread = r.Workflows, r.Events, r.Findings, r.Unread
	return out, nil
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// configured is a source of the secrets that are in the configuration of a worker.
type configured struct {
	config    Config
	additions additions
}

// Secrets yields the secrets of the configuration.
func (c configured) Secrets(context.Context) iter.Seq2[fingerprint.Credential, error] {
	return func(yield func(fingerprint.Credential, error) bool) {
		own, err := ownSecrets(c.config, c.additions)
		for _, secret := range own {
			if !yield(secret, nil) {
				return
			}
		}
		if err != nil {
			yield(fingerprint.Credential{}, err)
		}
	}
}
