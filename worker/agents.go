package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/activities/judge"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/broker/fingerprint"
	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/submitter"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// agents returns the activities of runs of agents.
func agents(c Config, store *postgres.Store, client temporal.Client, broker connection.Broker, prices *modelPrices, live *fingerprint.Set, log *slog.Logger) *agent.Agents {
	o := clientpg.Of(store).Options()
	o.DataConverter = c.Temporal.DataConverter
	return &agent.Agents{
		Namespace: namespaceOf(c), Store: store, Triggers: store, Document: documents(store), Client: pawl.New(client, o), Broker: broker, Roles: rolesBy(store), Vouched: submitter.New(store).VouchedNow, Killed: killedBy(store), URLs: c.ModelURLs, HTTP: modelClient(), Price: prices.Cost, Watch: c.telemetry.Ask, Reason: store.AddReasoning, Secrets: live, Requests: cmp.Or(c.ModelRequests, defaultModelRequests), Log: log,
	}
}

// sweptRuns has the runs of agents for the sweeper.
type sweptRuns struct {
	*postgres.Store
	agents *agent.Agents
}

// EndLost implements upkeep.AgentRuns.
func (s sweptRuns) EndLost(ctx context.Context, of contract.AgentRun, end contract.AgentEnd, late bool) (bool, error) {
	return s.agents.EndLost(ctx, of, end, late)
}

// documents returns the function that reads a version of an agent for a run that starts.
func documents(store *postgres.Store) func(ctx context.Context, name, version string) (pawlagent.Document, error) {
	return func(ctx context.Context, name, version string) (pawlagent.Document, error) {
		document, err := store.AgentToStart(ctx, name, version)
		if errors.Is(err, postgres.ErrNotFound) {
			err = agent.ErrNotFound
		}
		return document, err
	}
}

// rolesBy returns the function that returns the roles of an identity by the active policy.
func rolesBy(store *postgres.Store) func(ctx context.Context, tenantID, identity string) ([]string, error) {
	return func(ctx context.Context, tenantID, identity string) ([]string, error) {
		active, _, err := store.ActivePolicy(ctx)
		if err != nil {
			return nil, err
		}
		p, err := store.Policy(ctx, active.Digest)
		if err != nil {
			return nil, err
		}
		return p.Roles(tenantID, identity), nil
	}
}

// killedBy returns the function that looks for a kill switch that stops an agent, and returns its reason, or "" if
// there is none. A switch stops an agent if it names no effect and its pattern of tools is `*` or matches agent__NAME.
func killedBy(store *postgres.Store) func(ctx context.Context, tenantID, name string) (string, error) {
	return func(ctx context.Context, tenantID, name string) (string, error) {
		switches, err := store.KillSwitches(ctx, tenantID, false)
		if err != nil {
			return "", err
		}
		for _, k := range switches {
			if k.Covers(tenantID, toolspec.Spec{Name: pawlagent.ToolPrefix + name}) {
				return judge.KillFailure(k.Reason).SafeMessage, nil
			}
		}
		return "", nil
	}
}

// modelClient returns the client for models without a connection. It has no timeout of its own, because a model may think
// for minutes.
func modelClient() *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// The default and the maximum of Config.ModelRequests. A worker runs at most 1000 activities at the same time, and
// requests to models are activities, as tools are.
const (
	defaultModelRequests = 200
	maxModelRequests     = 1000
)

// loadModels reads the variables of requests to models from the environment.
func (c Config) loadModels() (_ Config, err error) {
	c.ModelPrices = os.Getenv("PAWL_MODEL_PRICES")
	if text := os.Getenv("PAWL_MODEL_REQUESTS"); text != "" {
		if c.ModelRequests, err = strconv.Atoi(text); err != nil || c.ModelRequests < 1 || c.ModelRequests > maxModelRequests {
			return c, fmt.Errorf("config: PAWL_MODEL_REQUESTS must be between 1 and %d", maxModelRequests)
		}
	}
	c.ModelURLs, err = LoadModelURLs()
	return c, err
}

// LoadModelURLs reads PAWL_MODEL_URLS: the base URLs of models that may be asked without a connection.
func LoadModelURLs() (urls []string, err error) {
	for text := range strings.FieldsSeq(strings.ReplaceAll(os.Getenv("PAWL_MODEL_URLS"), ",", " ")) {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("config: PAWL_MODEL_URLS has an entry that is not http://HOST/PATH or https://HOST/PATH without a query and a user")
		}
		urls = append(urls, strings.TrimSuffix(text, "/"))
	}
	return urls, nil
}
