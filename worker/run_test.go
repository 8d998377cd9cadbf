package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const runs = "worker runs"

func TestRunServesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", rules)
	r := w.start(Tools(tool("test__own")))
	r.waitForLog(runs)
	// The namespace had no search attributes, and calls upsert them, so the worker registers them.
	known, err := w.temporal.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{
		Namespace: w.config.Temporal.Namespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range contract.SearchAttributeNames() {
		if known.GetCustomAttributes()[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			t.Errorf("%s is not registered as a keyword", name)
		}
	}
	result, err := w.invoke("test__own", "own", `{"text":"hello"}`)
	if err != nil || string(result.Value) != `{"text":"own hello"}` {
		t.Errorf("result %+v, %v", result, err)
	}
	if attributes := w.searchAttributesOf("own"); len(attributes) == 0 {
		t.Error("the call upserted no search attribute")
	}
	specs, err := w.store.Specs(t.Context())
	if err != nil || !slices.ContainsFunc(specs, func(s toolspec.Spec) bool { return s.Name == "test__own" && s.Origin == "worker" }) ||
		!slices.ContainsFunc(specs, func(s toolspec.Spec) bool { return s.Name == "core__ls" && s.Origin == "builtin" }) {
		t.Errorf("published %+v, %v", specs, err)
	}
	if err := r.stop(); err != nil {
		t.Errorf("told to stop, it ended with %v", err)
	}
	// A second worker finds the search attributes registered.
	again := w.start()
	w.until("it runs again", func() error {
		if strings.Count(w.log.String(), runs) < 2 {
			return errors.New(w.log.String())
		}
		return nil
	})
	if err := again.stop(); err != nil {
		t.Error(err)
	}
}

func TestWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile, w.config.SearchAttributes = w.file("policy.yaml", rules), false
	w.start(Tools(tool("test__own"))).waitForLog(runs)
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Fatal(err)
	}
	if attributes := w.searchAttributesOf("own"); len(attributes) > 0 {
		t.Errorf("the call upserted %v", attributes)
	}
	known, err := w.temporal.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{
		Namespace: w.config.Temporal.Namespace,
	})
	if err != nil || known.GetCustomAttributes()[contract.SearchAttributeNames()[0]] != enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
		t.Errorf("registered %v, %v", known.GetCustomAttributes(), err)
	}
}

// TestASearchAttributeOfAnotherType: a worker does not start if no call can write a search attribute of the namespace.
func TestASearchAttributeOfAnotherType(t *testing.T) {
	t.Parallel()
	const name = contract.AttrTenant
	for kind, says := range map[enumspb.IndexedValueType]string{
		enumspb.INDEXED_VALUE_TYPE_INT:          name + " has the type Int",
		enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST: name + " has the type KeywordList",
		enumspb.INDEXED_VALUE_TYPE_TEXT:         "",
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.PolicyFile = w.file("policy.yaml", rules)
			operator := w.temporal.OperatorService()
			if _, err := operator.AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
				Namespace: w.config.Temporal.Namespace, SearchAttributes: map[string]enumspb.IndexedValueType{name: kind},
			}); err != nil {
				t.Fatal(err)
			}
			w.until("it is registered", func() error {
				known, err := operator.ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: w.config.Temporal.Namespace})
				if err == nil && known.GetCustomAttributes()[name] != kind {
					err = fmt.Errorf("there are %v", known.GetCustomAttributes())
				}
				return err
			})
			r := w.start(Tools(tool("test__own")))
			if says != "" {
				r.expectError(says, "PAWL_SEARCH_ATTRIBUTES=off")
				return
			}
			r.waitForLog(runs)
			if _, err := w.invoke("test__own", "own", `{}`); err != nil || !slices.Contains(w.searchAttributesOf("own"), name) {
				t.Errorf("%v, the call upserted %v", err, w.searchAttributesOf("own"))
			}
		})
	}
}

// TestSearchAttributesThatNobodyMayAdd: the message says whether the worker knows that attributes are missing.
func TestSearchAttributesThatNobodyMayAdd(t *testing.T) {
	t.Parallel()
	for refused, says := range map[string]string{
		"AddSearchAttributes": "search attributes are missing and could not be registered",
		"SearchAttributes":    "search attributes could be neither listed nor registered",
	} {
		w := newWorld(t)
		w.config.Temporal.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if strings.HasSuffix(method, refused) {
					return status.Error(codes.PermissionDenied, "not for this key")
				}
				return invoke(ctx, method, req, reply, cc, opts...)
			})}
		w.start().expectError(says, "PAWL_SEARCH_ATTRIBUTES=off", "--name "+contract.AttrTenant)
	}
}

// searchAttributesOf returns the names of the search attributes in the history of a call.
func (w *world) searchAttributesOf(id string) (names []string) {
	w.t.Helper()
	events := w.temporal.GetWorkflowHistory(w.t.Context(), "tool:acme:run:"+id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		for name := range event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields() {
			names = append(names, name)
		}
	}
	return names
}

func TestANamespaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Temporal.Namespace = "nowhere"
	w.start().expectError("nowhere", "TEMPORAL_NAMESPACE")
	w.config.SearchAttributes = false
	w.start().expectError("nowhere")
}

// TestSchemaBehind also shows that a failed start closes the resources that it opened: TestMain looks for
// goroutines of pools and connections.
func TestSchemaBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.DatabaseURL = devstacktest.Postgres(t) // empty
	w.start().expectError("schema", "pawl migrate")
}

func TestPolicyFileWithAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", "version: 1\ntenants:\n  acme:\n    mode: sometimes\n")
	w.start().expectError("policy.yaml:4:11: tenants.acme.mode: ")
	if _, active, err := w.store.ActivePolicy(t.Context()); err != nil || active {
		t.Errorf("active: %v, %v", active, err)
	}
	w.config.PolicyFile = w.file("policy.yaml", "version: 1\ntenants:\n  acme:\n    allowedTools: [core__*]\n"+
		"    rules: [{tool: core__ls, decision: deny, when: args.pth == \"/etc\"}]\n")
	w.start().expectError("policy.yaml:5:57: tenants.acme.rules[0].when: core__ls has no argument pth; did you mean path?")
	if _, active, err := w.store.ActivePolicy(t.Context()); err != nil || active {
		t.Errorf("active: %v, %v", active, err)
	}
	w.config.PolicyFile = w.config.Workspace + "/missing.yaml"
	w.start().expectError("policy:", "missing.yaml")
}

func TestPolicyFileIsAppliedWhereNoneIsActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	active := func() string {
		version, _, err := w.store.ActivePolicy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return version.Digest
	}
	serve := func() {
		before := strings.Count(w.log.String(), runs)
		r := w.start()
		w.until("the worker runs", func() error {
			if strings.Count(w.log.String(), runs) == before {
				return errors.New(w.log.String())
			}
			return nil
		})
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	serve()
	if active() != "" || !strings.Contains(w.log.String(), "no policy is active: every call is denied") {
		t.Errorf("without a file %q is active; the log:\n%s", active(), w.log)
	}
	w.config.PolicyFile = w.file("first.yaml", rules)
	serve()
	first := active()
	if first == "" || !strings.Contains(w.log.String(), "unsigned approval decisions count") {
		t.Errorf("with a file %q is active; the log:\n%s", first, w.log)
	}
	w.config.PolicyFile = w.file("second.yaml", strings.Replace(rules, "auto", "ask", 1))
	serve()
	if active() != first {
		t.Error("a file replaced the active policy")
	}
	w.config.ApplyPolicy = true
	serve()
	if active() == first {
		t.Error("the operator's word did not replace the active policy")
	}
}

func TestTwoToolsWithOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(Tools(tool("core__ls"))).expectError("core__ls", "builtin", "worker")
	w.start(Tools(tool("test__own"), tool("test__own"))).expectError("test__own", "worker")
}

func TestACapabilityThatNobodyProvides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", rules)
	moon := toolspec.NewCapability[string]("moon")
	w.start(Tools(tool("test__own", moon.Name()))).expectError("test__own", "moon", "clock")
	w.start(Capabilities(moon.Provide("a"), moon.Provide("b"))).expectError("moon", "twice")
	r := w.start(Tools(tool("test__own", moon.Name())), Capabilities(moon.Provide("a")))
	r.waitForLog(runs)
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Error(err)
	}
}

func TestAWorkspaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Workspace += "/missing"
	w.start().expectError("workspace", "missing")
}

// TestWaitsForTheDatabase starts a worker while its database is down.
func TestWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	own := devstacktest.OwnPostgres(t)
	w := newWorldOn(t, own.URL())
	store := w.open()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.config.PolicyFile = w.file("policy.yaml", rules)
	const waits = "the worker cannot start yet and tries again"

	impatient := w.start()
	impatient.waitForLog(waits)
	began := time.Now()
	if err := impatient.stop(); err == nil || !strings.Contains(err.Error(), "waiting for the database") {
		t.Errorf("told to stop while it waits, it ended with %v", err)
	}
	if took := time.Since(began); took >= stepTimeout { // a step that ignores the stop takes stepTimeout
		t.Errorf("it took %s", took)
	}

	before := strings.Count(w.log.String(), waits)
	r := w.start(Tools(tool("test__own")))
	w.until("it waits", func() error {
		if strings.Count(w.log.String(), waits) == before {
			return errors.New(w.log.String())
		}
		return nil
	})
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.waitForLog(runs)
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Error(err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(w.log.String(), passwordOf(t, own.URL())) {
		t.Errorf("the password is in the log:\n%s", w.log)
	}
}

func TestWaitsForTemporal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Temporal.HostPort = "127.0.0.1:1"
	r := w.start()
	r.waitForLog(awayTemporal + `127.0.0.1:1 reason="no server listens at TEMPORAL_ADDRESS: `)
	began := time.Now()
	if err := r.stop(); err == nil || !strings.Contains(err.Error(), "waiting for Temporal at 127.0.0.1:1") {
		t.Errorf("told to stop while it waits, it ended with %v", err)
	}
	if took := time.Since(began); took >= stepTimeout { // a step that ignores the stop takes stepTimeout
		t.Errorf("it took %s", took)
	}
}

// TestAFailedStartClosesWhatItOpened asks the database for connections of the worker.
func TestAFailedStartClosesWhatItOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Temporal.Namespace = "nowhere" // the worker finds this fault in its last step
	w.start().expectError("nowhere")
	w.until("the connections are gone", func() error { return noConnections(t, w.config.DatabaseURL, "pawl") })
}

func TestACallOfATool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start().waitForLog(runs)
	if _, err := w.invoke("core__ls", "ls", `{}`); !errors.Is(err, pawl.Coded(toolspec.CodePolicyDenied)) {
		t.Errorf("without a policy: %v", err)
	}
}
