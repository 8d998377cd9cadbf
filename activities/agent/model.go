package agent

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// leaseTime bounds the use of a connection by one request. It is longer than a request may take.
const leaseTime = 20 * time.Minute

// modelClient returns the HTTP client and the address for requests to the model. The caller calls done when the
// response has arrived.
func (a *Agents) modelClient(ctx context.Context, of contract.AgentRun, run Run, model pawlagent.Model) (client *http.Client, base *url.URL, done func(), err error) {
	if model.Connection == "" {
		if !slices.Contains(a.URLs, strings.TrimSuffix(model.URL, "/")) {
			return nil, nil, nil, unusable("this worker asks no model%s: set PAWL_MODEL_URLS to exactly this URL, or give the agent a connection", at(model))
		}
		base, err := url.Parse(model.URL)
		if err != nil {
			return nil, nil, nil, unusable("the URL of the model cannot be read")
		}
		return a.HTTP, base, func() {}, nil
	}
	if a.Broker == nil {
		return nil, nil, nil, unusable("this worker has no key ring, which the connection of the model needs: set PAWL_KEYRING_FILE")
	}
	// The actor itself must have the grant: a delegation of the subject is for tools only.
	c := run.Input.Context
	roles, err := a.Roles(ctx, c.TenantID, c.ActorID)
	if err != nil {
		return nil, nil, nil, judge.MarkUnreadable(err)
	}
	r := broker.Request{TenantID: c.TenantID, AgentRunID: of.RunID, ConnectionID: model.Connection, Holder: c.ActorID, Lasts: leaseTime}
	for _, role := range roles {
		r.Roles = append(r.Roles, broker.RolePrefix+role)
	}
	lease, answer, err := a.Broker.Lease(ctx, r)
	switch {
	case errors.Is(err, broker.ErrNoToken): // the fallback may have another connection
		return nil, nil, nil, &provider.Error{Kind: "no_token", Retry: true}
	case err != nil:
		return nil, nil, nil, err
	case answer == broker.NeedsReauth:
		return nil, nil, nil, unusable("the connection %s of the model must be authorised again: pawl connections signin, or pawl connections rotate", toolspec.Quoted(model.Connection))
	case answer == broker.Superseded:
		return nil, nil, nil, unusable("the run has ended")
	case answer != broker.Leased:
		return nil, nil, nil, unusable("the actor of the run has no grant for the connection of the model, or there is none: pawl connections grant")
	}
	if client, err = lease.For(model.Connection); err == nil {
		base, err = baseOf(lease, model)
	}
	if err != nil {
		lease.Close()
		return nil, nil, nil, unusable("%s", errs.Reason(err))
	}
	return client, base, lease.Close, nil
}

// watch calls Watch, if it is set, before a request to the model. It returns what Watch returns.
func (a *Agents) watch(ctx context.Context, model pawlagent.Model) (context.Context, func(wire.Response, error)) {
	if a.Watch == nil {
		return ctx, func(wire.Response, error) {}
	}
	return a.Watch(ctx, model.Format, model.Name)
}

// baseOf returns the base URL of the API that the model's connection reaches.
func baseOf(lease *broker.Lease, model pawlagent.Model) (*url.URL, error) {
	host, path := "", provider.Base(model.Format)
	if model.URL != "" {
		given, err := url.Parse(model.URL)
		if err != nil {
			return nil, err
		}
		host, path = given.Host, given.Path
	}
	base, err := lease.BaseURL(model.Connection, host)
	if err != nil {
		return nil, err
	}
	return base.JoinPath(path), nil
}
