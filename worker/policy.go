package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// policyEngines returns the engines of the option PolicyEngine. Without the option it returns nil, which
// means Pawl's own engine.
func policyEngines(a additions, log *slog.Logger) (policy.Engines, error) {
	switch {
	case len(a.policyEngines) == 0:
		return nil, nil //nolint:nilnil // no option, and nothing wrong with that
	case len(a.policyEngines) > 1 || a.policyEngines[0] == nil:
		return nil, errors.New("worker.PolicyEngine wants one function, which is not nil: leave it out if the policy file decides")
	}
	log.Info("a policy engine of the program decides on calls")
	return a.policyEngines[0], nil
}

// readPolicy reads the policy file. Without a file it returns nil. A faulty file stops the worker
// before it waits for a server. The error names the file, the line and the reason.
func readPolicy(c Config) (*policy.Policy, error) {
	if c.PolicyFile == "" {
		return nil, nil //nolint:nilnil // no file, and nothing wrong with that
	}
	doc, err := os.ReadFile(c.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p, err := policy.Parse(c.PolicyFile, doc)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return p, nil
}

// applyPolicy makes the policy of the file the active policy if no policy is active or if
// ApplyPolicy is set. It returns an error, and the worker does not start, if the conditions of the
// policy do not fit the tools of this worker and of the other workers.
func applyPolicy(ctx context.Context, c Config, store *postgres.Store, p *policy.Policy, own []toolspec.Spec) error {
	if p == nil {
		return nil
	}
	specs, err := knownSpecs(ctx, store, own)
	if err != nil {
		return err
	}
	// A tool that a tenant has registered must not keep a worker from starting.
	specs = slices.DeleteFunc(specs, func(s toolspec.Spec) bool { return toolspec.TenantOfTool(s.Name) != "" })
	if err := review.Check(p, specs); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	by := "worker " + c.PolicyFile
	if !c.ApplyPolicy {
		_, err := store.ApplyIfNone(ctx, p, by)
		return err
	}
	_, err = store.ApplyPolicy(ctx, p, by)
	return err
}

// knownSpecs returns the tools of this worker and the tools that other workers have published.
func knownSpecs(ctx context.Context, store *postgres.Store, own []toolspec.Spec) ([]toolspec.Spec, error) {
	published, err := store.Specs(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(own)
	for _, s := range published {
		if !slices.ContainsFunc(own, func(o toolspec.Spec) bool { return o.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all, nil
}

// policyWatch logs which policy is active, and compiles it before the first call needs it. It has no effect on
// verdicts: every call reads the active version itself.
type policyWatch struct {
	store *postgres.Store
	// own returns the tools that this worker has now.
	own func() []toolspec.Spec
	log *slog.Logger
	// reviews gets each version that becomes active.
	reviews   *mcpReviews
	telemetry *telemetry.Telemetry
	// reported is the digest of the active policy that was logged last.
	reported string
	// shadow is the shadow policy. It has no effect on calls, so only the memory of this worker
	// keeps it.
	shadow atomic.Pointer[policy.Policy]
}

// newPolicyWatch returns a watch, and logs the active policy. It returns an error, and the worker
// does not start, if this worker cannot read the active policy: then it could not judge any call.
func newPolicyWatch(ctx context.Context, c Config, store *postgres.Store, tools *catalog.Registry, _ *sources.Set /* their tools are there */, reviews *mcpReviews) (*policyWatch, error) {
	w := &policyWatch{store: store, own: tools.Specs, log: c.Log, reviews: reviews, telemetry: c.telemetry}
	return w, withDatabase(ctx, c, func(ctx context.Context) error {
		if err := w.loadShadow(ctx); err != nil {
			return err
		}
		active, ok, err := store.ActivePolicy(ctx)
		if err != nil {
			return err
		}
		if !ok {
			c.Log.WarnContext(ctx, "no policy is active: every call is denied; give one with PAWL_POLICY=file")
			return nil
		}
		return w.report(ctx, "policy", active)
	})
}

// reportChange logs the active policy if it has changed, and loads the shadow policy. The outbox
// relay calls it after each change.
func (w *policyWatch) reportChange(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	active, ok, err := w.store.ActivePolicy(ctx)
	if err == nil && ok && active.Digest != w.reported {
		err = w.report(ctx, "policy changed", active)
	}
	if err == nil {
		err = w.loadShadow(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, judge.ErrPolicyUnreadable):
		w.reported = active.Digest
		w.log.ErrorContext(ctx, "policy changed to a version that this worker cannot read; calls wait for a worker that can",
			"digest", active.Digest, "activatedBy", active.By)
	case !errors.Is(err, context.Canceled):
		w.log.WarnContext(ctx, "the active policy could not be read ahead; the next call reads it", "reason", errs.Reason(err))
	}
}

// loadShadow loads the current shadow policy.
func (w *policyWatch) loadShadow(ctx context.Context) error {
	pointer, ok, err := w.store.ShadowPolicy(ctx)
	if err != nil {
		return err
	}
	var p *policy.Policy
	if ok {
		if p, err = w.store.Policy(ctx, pointer.Digest); errors.Is(err, judge.ErrPolicyUnreadable) {
			w.log.WarnContext(ctx, "the shadow policy cannot be read by this worker, which asks none", "digest", pointer.Digest)
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if old := w.shadow.Swap(p); old.Digest() != p.Digest() {
		w.log.InfoContext(ctx, "shadow policy", "digest", p.Digest())
	}
	return nil
}

// report logs which policy is active, with a warning for each dangerous or useless part of it.
func (w *policyWatch) report(ctx context.Context, what string, active policies.Active) error {
	p, err := w.store.Policy(ctx, active.Digest)
	if err != nil {
		return err
	}
	w.reported = active.Digest
	w.telemetry.Policy(active.Digest)
	w.reviews.set(p)
	w.log.InfoContext(ctx, what, "digest", active.Digest, "activatedBy", active.By) //nolint:sloglint // the callers' messages are constants
	for _, warning := range review.Warnings(p) {
		w.log.WarnContext(ctx, "policy is lax", "warning", warning)
	}
	specs, err := knownSpecs(ctx, w.store, w.own())
	if err != nil {
		return err
	}
	related, err := w.store.RelatedRoles(ctx, p)
	if err != nil {
		return err
	}
	for _, found := range review.LintWithRelations(p, specs, related) {
		w.log.WarnContext(ctx, "policy says something to no effect", "at", found.Path, "reason", found.Reason)
	}
	if err := review.Check(p, specs); err != nil {
		w.log.WarnContext(ctx, "policy does not fit the tools: conditions over what they lack fail", "reason", err.Error())
	}
	return nil
}

// loadTimeout bounds one read of the active policy and the shadow policy.
const loadTimeout = 10 * time.Second
