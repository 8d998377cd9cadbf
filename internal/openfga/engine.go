package openfga

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy/authz"
)

const (
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 1 << 20
	// idleTimeout is how long an unused connection is kept open.
	idleTimeout = 30 * time.Second
	idleMost    = 32
)

// Options say where the server is.
type Options struct {
	// URL is the address of the HTTP API, such as https://fga.internal:8080.
	URL string
	// StoreID names the store.
	StoreID string
	// ModelID pins the version of the model; the latest one if it is empty.
	ModelID string
	// Token is a bearer token or a preshared key; none if it is empty. It is a secret.
	Token string
}

// Engine asks a server. It may be used by several goroutines.
type Engine struct {
	check   string
	options Options
	client  *http.Client
}

var _ authz.Port = (*Engine)(nil)

// New makes an engine. It sends no request: a server that does not answer at the start is like one that does not answer later.
func New(o Options) (*Engine, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("openfga: the address must be of the form https://host:port")
	}
	if o.StoreID == "" || url.PathEscape(o.StoreID) != o.StoreID {
		return nil, errors.New("openfga: the id of the store is missing, or is none")
	}
	return &Engine{
		check: u.JoinPath("stores", o.StoreID, "check").String(), options: o,
		client: &http.Client{
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: idleMost, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true},
			// Do not follow redirects: another server's answer must not count, and must not get the
			// token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close ends the connections that are idle.
func (e *Engine) Close() { e.client.CloseIdleConnections() }

// Check asks whether the actor has the relation execute to the tool and, if there is a subject, delegate to the subject. An error is
// never a denial: a server that refuses the request may accept it when an operator has corrected its configuration.
func (e *Engine) Check(ctx context.Context, r authz.Request) (authz.Decision, error) {
	actor, ok := identity(r.TenantID, r.ActorID)
	if !ok || r.Permission != authz.Execute || r.ToolID == "" {
		return authz.Deny(authz.Permission), nil
	}
	tool := object("tool", r.TenantID, r.ToolID)
	may, err := e.ask(ctx, r, tuple{User: actor, Relation: "execute", Object: tool}, tuple{User: "tenant:" + escape(r.TenantID), Relation: "tenant", Object: tool})
	switch {
	case err != nil:
		return authz.Decision{}, err
	case !may:
		return authz.Deny(authz.Permission), nil
	case r.SubjectID == "":
		return authz.Allow(), nil
	}
	subject, ok := identity(r.TenantID, r.SubjectID)
	if !ok {
		return authz.Deny(authz.Delegation), nil
	}
	may, err = e.ask(ctx, r, tuple{User: actor, Relation: "delegate", Object: subject})
	switch {
	case err != nil:
		return authz.Decision{}, err
	case !may:
		return authz.Deny(authz.Delegation), nil
	}
	return authz.Allow(), nil
}

// tuple is a fact of OpenFGA.
type tuple struct {
	User     string `json:"user"`
	Relation string `json:"relation"`
	Object   string `json:"object"`
}

// asked is the body of a check.
type asked struct {
	Key        tuple       `json:"tuple_key"`
	ModelID    string      `json:"authorization_model_id,omitempty"`
	Contextual *contextual `json:"contextual_tuples,omitempty"`
	Context    conditions  `json:"context"`
	// Consistency bypasses the server's cache, so that a revoked relation counts at once.
	Consistency string `json:"consistency"`
}

type contextual struct {
	Keys []tuple `json:"tuple_keys"`
}

// conditions are the values that the conditions of a model can use.
type conditions struct {
	Tool       string `json:"tool"`
	Graph      string `json:"graph"`
	Connection string `json:"connection"`
	Session    string `json:"session"`
	Run        string `json:"run"`
	// Now is this worker's clock: OpenFGA has none of its own.
	Now string `json:"current_time"`
}

type answer struct {
	Allowed *bool `json:"allowed"`
}

func (e *Engine) ask(ctx context.Context, r authz.Request, key tuple, facts ...tuple) (bool, error) {
	in := asked{
		Key: key, ModelID: e.options.ModelID, Consistency: "HIGHER_CONSISTENCY",
		Context: conditions{
			Tool: r.ToolID, Graph: r.GraphID, Connection: r.ConnectionID, Session: r.SessionID, Run: r.RunID,
			Now: time.Now().UTC().Format(time.RFC3339Nano),
		},
	}
	if len(facts) > 0 {
		in.Contextual = &contextual{Keys: facts}
	}
	body, err := json.Marshal(in)
	if err != nil {
		return false, &Error{State: "encode"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.check, bytes.NewReader(body))
	if err != nil {
		return false, &Error{State: "request"}
	}
	request.Header.Set("Content-Type", "application/json")
	if e.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+e.options.Token)
	}
	response, err := e.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return false, &Error{State: "deadline", cause: ctx.Err()}
		}
		return false, &Error{State: "connection"}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case response.StatusCode != http.StatusOK:
		return false, &Error{State: fmt.Sprintf("status %d", response.StatusCode)}
	case err != nil:
		return false, &Error{State: "connection"}
	}
	var out answer
	if json.Unmarshal(text, &out) != nil || out.Allowed == nil {
		return false, &Error{State: "not an answer"}
	}
	return *out.Allowed, nil
}

// Error says why there was no answer. It has no text of the server.
type Error struct {
	State string
	cause error
}

// Error names the reason.
func (e *Error) Error() string { return "openfga: " + e.State }

// LogReason returns the text of Error, which is safe for logs.
func (e *Error) LogReason() string { return e.Error() }

// Unwrap returns the error of the context, if that is the cause.
func (e *Error) Unwrap() error { return e.cause }

// identity is user:NAME, agent:NAME or service:NAME inside of its tenant.
func identity(tenantID, id string) (string, bool) {
	if !authz.Identity(id) {
		return "", false
	}
	kind, name, _ := strings.Cut(id, ":")
	return object(kind, tenantID, name), true
}

// object is an object of OpenFGA: a type, the tenant and a name, so that no two tenants share one.
func object(kind, tenantID, name string) string {
	return kind + ":" + escape(tenantID) + "/" + escape(name)
}

// escape keeps a name from meaning something else to OpenFGA, such as everybody (*), the members of a set (#) or another tenant (/).
func escape(name string) string {
	var out strings.Builder
	for _, b := range []byte(name) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}
