package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/cli/terminaltest"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
	"github.com/pawl-run/pawl/internal/oidc/oidctest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// waitTimeout is how long a test waits for an event that should take a moment.
const waitTimeout = 2 * time.Minute

// TestScripts runs the scripts in testdata/script: sessions at a terminal, as text. All scripts
// share one worker, and each script has its own tenant.
func TestScripts(t *testing.T) {
	t.Parallel()
	const dir = "testdata/script"
	r := newRig(t, dir)
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: r.setup, RequireUniqueNames: true, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": checkJSON, "clean": clean, "larger": larger,
			"waits": r.waits, "until": r.untilPrints, "database": r.database, "stopped": r.stopped, "wrongpassword": r.wrongPassword, "signin": r.signIn, "sql": r.sql,
		},
	})
}

// rig has the servers and the worker that all scripts share.
type rig struct {
	t                   *testing.T
	url, address, tools string
	store               *postgres.Store
	corp                *oidctest.Provider
	// auditKey is the key of the worker, and auditPub the file of its public half.
	auditKey, auditPub string
}

func newRig(t *testing.T, scripts string) *rig {
	t.Helper()
	r := &rig{t: t, url: postgrestest.Database(t) + "&connect_timeout=60", address: devstacktest.Temporal(t), corp: oidctest.New(t)}
	program, err := temporalcli.Find(t.Context(), temporalcli.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.tools = filepath.Dir(program)
	if r.store, err = postgres.Open(t.Context(), r.url, postgres.Options{MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	files, err := filepath.Glob(filepath.Join(scripts, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	rules := "version: 1\ntenants:\n"
	for _, f := range files {
		approvals := "{expiresAfter: 1h, allowUnsigned: true}"
		switch tenantOf(f) {
		case "t-idtoken":
			approvals = "{expiresAfter: 1h}"
		case "t-keys":
			approvals = "{expiresAfter: 1h, quorum: 2}"
		case "t-remember":
			approvals = "{expiresAfter: 1h, allowUnsigned: true, remember: {for: 7d, anyArgs: true}}"
		}
		allowed := "core__*, test__*"
		if tenantOf(f) == "t-mcp" {
			allowed += ", mcp__github__create_issue, mcp__github__close_issue"
		}
		rules += fmt.Sprintf("  %s:\n    allowedTools: [%s]\n    mode: auto\n    approvals: %s\n", tenantOf(f), allowed, approvals)
		if tenantOf(f) == "t-relations" {
			rules += "    permissions: relations\n"
		}
		if tenantOf(f) == "t-limits" {
			rules += "    limits:\n      - {tool: core__ls, quota: {tokens: 1, every: 40s}, then: wait}\n" +
				"      - {tool: core__read_file, quota: {tokens: 1, every: 1h}}\n"
		}
	}
	p, err := policy.Parse("policy.yaml", []byte(rules+mcpRules))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.ApplyPolicy(t.Context(), p, "test"); err != nil {
		t.Fatal(err)
	}
	r.publishReviewed()
	r.makeAuditKey()
	r.work()
	return r
}

func tenantOf(script string) string {
	return "t-" + strings.TrimSuffix(filepath.Base(script), ".txtar")
}

// work runs the worker until all scripts have ended.
func (r *rig) work() {
	workspace := r.t.TempDir()
	if err := os.WriteFile(filepath.Join(workspace, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Config{
			Temporal: temporal.Options{HostPort: r.address}, DatabaseURL: r.url, Workspace: workspace, SearchAttributes: true,
			OIDC:       []worker.OIDCIssuer{{Name: "corp", URL: r.corp.URL(), ClientIDs: []string{oidctest.ClientID}, Tenants: []string{"*"}}},
			SweepEvery: time.Hour, AuditKeyFile: r.auditKey, Log: slog.New(slog.DiscardHandler),
		}, worker.Tools(append(scriptTools(), mcpTools()...)...))
	}()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("the worker ended with: %v", err)
		}
	})
	server, err := temporal.DialContext(r.t.Context(), app.WithTimeout(temporal.Options{HostPort: r.address}, waitTimeout))
	if err != nil {
		r.t.Fatal(err)
	}
	defer server.Close()
	// A worker publishes its tools and makes its schedule before it polls the task queue.
	r.until("the worker asks for work", func() error {
		queue, err := server.DescribeTaskQueue(r.t.Context(), toolspec.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		if err == nil && len(queue.GetPollers()) == 0 {
			err = fmt.Errorf("nobody does")
		}
		return err
	})
}

func (r *rig) until(what string, holds func() error) {
	r.t.Helper()
	if err := eventually(r.t.Context(), holds); err != nil {
		r.t.Fatalf("never: %s: %v", what, err)
	}
}

// eventually calls holds until it returns nil. After waitTimeout, it returns the last error of holds.
func eventually(ctx context.Context, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	var last error
	if err := app.WaitFor(ctx, func() bool { last = holds(); return last == nil }); err != nil {
		return last
	}
	return nil
}

func (r *rig) setup(env *testscript.Env) error {
	// The directory of a script has the name script-<name>.
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	for k, v := range map[string]string{
		"PAWL_DATABASE_URL": r.url, "TEMPORAL_ADDRESS": r.address, "PAWL_TENANT": tenantOf(name), "PAWL_TEMPORAL_UI": "http://ui.test",
		"PAWL_APPROVER": "user:anna", "XDG_CACHE_HOME": filepath.Join(env.WorkDir, ".cache"), "TZ": "UTC", "ODD": terminaltest.Odd, "AUDIT_PUB": r.auditPub,
		"TEMPORAL_CONFIG_FILE": os.DevNull, "TEMPORAL_DEBUG": os.Getenv("TEMPORAL_DEBUG"), "PATH": r.tools + string(filepath.ListSeparator) + env.Getenv("PATH"),
	} {
		env.Setenv(k, v)
	}
	return nil
}

// waits CALL NAME waits until the call asks for an approval. It puts the id of the approval request into the
// environment variable NAME, and the id of the call into NAME_CALL.
func (r *rig) waits(ts *testscript.TestScript, _ bool, args []string) {
	tenant := ts.Getenv("PAWL_TENANT")
	err := eventually(r.t.Context(), func() error {
		requests, err := r.store.Approvals(r.t.Context(), client.ApprovalFilter{TenantID: tenant})
		for _, request := range requests {
			if strings.HasSuffix(request.WorkflowID, ":"+args[0]) {
				ts.Setenv(args[1], request.ApprovalID)
				ts.Setenv(args[1]+"_CALL", request.InvocationID)
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("%d others wait", len(requests))
		}
		return err
	})
	ts.Check(err)
}

// until PATTERN PROGRAM ARGUMENTS… runs a program until its output matches.
func (r *rig) untilPrints(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	ts.Check(eventually(r.t.Context(), func() error {
		err := ts.Exec(args[1], args[2:]...)
		if text := ts.ReadFile("stdout"); err == nil && !pattern.MatchString(text) {
			err = fmt.Errorf("it prints %s", text)
		}
		return err
	}))
}

// database gives the script an empty database.
func (r *rig) database(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PAWL_DATABASE_URL", devstacktest.Postgres(r.t))
}

// stopped gives the script the address of a database server that has stopped.
func (r *rig) stopped(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := devstack.StartPostgres(r.t.Context(), devstack.PostgresOptions{})
	ts.Check(err)
	ts.Setenv("PAWL_DATABASE_URL", server.URL())
	ts.Check(server.Stop(context.WithoutCancel(r.t.Context())))
}

// wrongpassword gives the script the address of the database with the wrong password s3same.
func (r *rig) wrongPassword(ts *testscript.TestScript, _ bool, _ []string) {
	u, err := url.Parse(r.url)
	ts.Check(err)
	u.User = url.UserPassword(u.User.Username(), "s3same")
	ts.Setenv("PAWL_DATABASE_URL", u.String())
}

// signin EMAIL NONCE FILE signs a person in with the nonce in the file NONCE, and writes the ID token into FILE.
func (r *rig) signIn(ts *testscript.TestScript, _ bool, args []string) {
	nonce := strings.TrimSpace(ts.ReadFile(args[1]))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(r.corp.Token(args[0], nonce, time.Now())+"\n"), 0o600))
}

func scriptTools() []toolspec.Tool {
	type in struct {
		Text string `json:"text,omitempty"`
	}
	type out struct {
		Text   string `json:"text"`
		Number int64  `json:"number,omitempty"`
	}
	define := func(id string, risk toolspec.Risk, f func(in) (out, error)) toolspec.Tool {
		return toolspec.Define(toolspec.Definition{
			ID: id, Description: "A tool of a test. Really.", Version: "1", Effect: toolspec.ReadOnly, Risk: risk, MaxAttempts: 1,
			Redaction: toolspec.Redaction{Allow: []string{"/text", "/number"}},
		}, func(_ context.Context, in in, _ toolspec.Call) (out, error) { return f(in) })
	}
	return []toolspec.Tool{
		define("test__echo", toolspec.LowRisk, func(in in) (out, error) { return out{Text: in.Text}, nil }),
		define("test__fail", toolspec.LowRisk, func(in) (out, error) { return out{}, fmt.Errorf("canary") }),
		define("test__big", toolspec.LowRisk, func(in) (out, error) { return out{Text: strings.Repeat("x", 2*toolspec.MaxInline)}, nil }),
		toolspec.Define(toolspec.Definition{
			ID: "test__stream", Description: "Writes lines until a file exists.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, MaxAttempts: 1,
			Stream: toolspec.TextStream, Timeout: waitTimeout, Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, func(ctx context.Context, in in, call toolspec.Call) (out, error) {
			err := eventually(ctx, func() error {
				if _, err := fmt.Fprintln(call.Output(), "a line"); err != nil {
					return err
				}
				_, err := os.Stat(in.Text)
				return err
			})
			if err == nil {
				_, err = fmt.Fprintln(call.Output(), "the last line")
			}
			return out{Text: "written"}, err
		}),
		define("test__number", toolspec.LowRisk, func(in) (out, error) { return out{Number: 9007199254740993}, nil }),
		define("test__odd", toolspec.MediumRisk, func(in) (out, error) { return out{Text: terminaltest.Odd}, nil }),
		define("test__safe", toolspec.LowRisk, func(in) (out, error) { return out{}, toolspec.Safef("no such thing: %s", terminaltest.Odd) }),
		toolspec.DefineSchema(toolspec.Definition{
			ID: "test__unchecked", Description: "Takes anything.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: toolspec.NoSchemaAsk,
		}, nil, json.RawMessage(`{"type":"object"}`), func(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
			return args, nil
		}),
		toolspec.DefineSchema(toolspec.Definition{
			ID: "hidden__linted", Description: "Has a schema to talk about.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","minContains":1}},"anyOf":[{}]}`), json.RawMessage(`{"type":"object"}`),
			func(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
				return args, nil
			}),
		define("hidden__tool", toolspec.LowRisk, func(in) (out, error) { return out{}, nil }),
	}
}
