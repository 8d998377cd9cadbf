package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type activePolicy struct {
	active    policies.Active
	ok        bool
	announced bool
}

func (a *activePolicy) AnnouncePolicy(context.Context) error { a.announced = true; return nil }

func (a *activePolicy) AnnounceTools(context.Context) error { return nil }

func (a *activePolicy) ActivePolicy(context.Context) (policies.Active, bool, error) {
	return a.active, a.ok, nil
}

func TestReloadPolicy(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	store := &activePolicy{active: policies.Active{Digest: "d", At: at}, ok: true}
	swap := hotSwap{store}
	if got, err := swap.ReloadPolicy(t.Context()); err != nil || got != (capability.PolicyVersion{Digest: "d", ActivatedAt: at}) || !store.announced {
		t.Errorf("%+v, %v", got, err)
	}
	*store = activePolicy{}
	if got, err := swap.ReloadPolicy(t.Context()); !errors.Is(err, capability.ErrNoPolicy) || !store.announced {
		t.Errorf("no policy is active: %+v, %v", got, err)
	}
}
