package e2etest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/verify"
)

// Secrets has values that must not be in anything that a world stores. At the end of the world every history, every table and the log are searched for
// them.
type Secrets struct {
	fingerprint.Set
	mu sync.Mutex
	// errs has the errors of Never.
	errs []error
}

// Never adds a secret. label names it in reports.
func (s *Secrets) Never(label string, secret []byte) {
	if err := s.Add(label, secret); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, err)
	}
}

// Leaked searches for the secrets, and returns a line for each finding with the secret, its form and its place.
func (w *World) Leaked(ctx context.Context, t client.Client) ([]string, error) {
	var found []string
	v := verify.New(&w.Secrets.Set, verify.Options{
		Codec:  w.Codec,
		Found:  func(f verify.Finding) { found = append(found, fmt.Sprintf("%s (%s) in %s", f.Secret, f.Form, f)) },
		Unread: func(p verify.Place) { found = append(found, "not read: "+p.String()) },
	})
	err := errors.Join(
		v.Histories(ctx, t.WorkflowService(), w.Namespace, ""), v.Schedules(ctx, t.WorkflowService(), w.Namespace), v.Tables(ctx, w.Store), v.Outputs(ctx, w.Store),
		errors.Join(w.Secrets.errs...),
	)
	for _, m := range w.Secrets.FindString(w.Log.String()) {
		found = append(found, fmt.Sprintf("%s (%s) in the log", m.Label, m.Form))
	}
	if err == nil && (v.Report().Workflows == 0 || v.Report().Rows == 0) {
		err = fmt.Errorf("nothing was there to search: %+v", v.Report())
	}
	slices.Sort(found)
	return found, err
}

// nothingLeaked fails the test if a secret is found. It runs at the end of every world.
func (w *World) nothingLeaked() {
	if w.T.Failed() || w.T.Skipped() || w.Planted {
		return
	}
	// Ten thousand rows under the race detector take more than a minute.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.T.Context()), 5*WaitTimeout)
	defer cancel()
	found, err := w.Leaked(ctx, w.Temporal)
	switch {
	case len(found) > 0:
		w.T.Errorf("secrets stand where none may:\n%s", strings.Join(found, "\n"))
	case err != nil && w.shared:
		w.T.Errorf("what this test left could not be searched for secrets: %v", err)
	case err != nil:
		w.T.Logf("what this test left is not searched for secrets, for a server of its own is gone: %v", err)
	}
}
