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

// secrets are what may stand nowhere that a world leaves behind. At its end everything is searched for them: each history, each table
// and the log.
type secrets struct {
	fingerprint.Set
	mu sync.Mutex
	// errs say what could not be planted.
	errs []error
}

// never plants a secret: something that this world's end must not find.
func (s *secrets) never(label string, secret []byte) {
	if err := s.Add(label, secret); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, err)
	}
}

// leaked is what was found, a line each: the secret, its form, and the place.
func (w *world) leaked(ctx context.Context, t client.Client) ([]string, error) {
	var found []string
	v := verify.New(&w.secrets.Set, verify.Options{
		Codec:  w.codec,
		Found:  func(f verify.Finding) { found = append(found, fmt.Sprintf("%s (%s) in %s", f.Secret, f.Form, f)) },
		Unread: func(p verify.Place) { found = append(found, "not read: "+p.String()) },
	})
	err := errors.Join(
		v.Histories(ctx, t.WorkflowService(), w.namespace, ""), v.Schedules(ctx, t.WorkflowService(), w.namespace), v.Tables(ctx, w.store),
		errors.Join(w.secrets.errs...),
	)
	for _, m := range w.secrets.FindString(w.log.String()) {
		found = append(found, fmt.Sprintf("%s (%s) in the log", m.Label, m.Form))
	}
	if err == nil && (v.Report().Workflows == 0 || v.Report().Rows == 0) {
		err = fmt.Errorf("nothing was there to search: %+v", v.Report())
	}
	slices.Sort(found)
	return found, err
}

// nothingLeaked is the end of every world.
func (w *world) nothingLeaked() {
	if w.t.Failed() || w.t.Skipped() || w.planted {
		return
	}
	// Ten thousand rows under the race detector take more than a minute.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 5*patience)
	defer cancel()
	found, err := w.leaked(ctx, w.temporal)
	switch {
	case len(found) > 0:
		w.t.Errorf("secrets stand where none may:\n%s", strings.Join(found, "\n"))
	case err != nil && w.shared:
		w.t.Errorf("what this test left could not be searched for secrets: %v", err)
	case err != nil:
		w.t.Logf("what this test left is not searched for secrets, for a server of its own is gone: %v", err)
	}
}
