package devstack_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/internal/devstack"
)

func TestAStackAnswersAndLeavesNothing(t *testing.T) {
	dir := scratch(t)
	t.Setenv("TMPDIR", dir)
	// None of these variables may reach a server or affect the stack.
	for _, name := range []string{
		"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_ENV", "PAWL_DATABASE_URL", "DATABASE_URL", "PGHOST", "PGDATA", "PGUSER", "PGPASSWORD",
	} {
		t.Setenv(name, "nowhere.invalid")
	}
	t.Setenv("PGPORT", "1")
	stack := startStack(t, devstack.Options{UI: true, SearchAttributes: []string{"PawlTenant", "PawlTool"}})

	answersSQL(t, stack.DatabaseURL())
	refusesWithoutPassword(t, stack.DatabaseURL())
	answersWorkflow(t, stack.TemporalAddress())
	response, err := http.Get(stack.UIAddress())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the UI answers %s", response.Status)
	}
	for _, pid := range []int{stack.Temporal().PID(), stack.Postgres().PID()} {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && strings.Contains(string(environ), "nowhere.invalid") {
			t.Errorf("process %d has the environment of the test: %q", pid, environ)
		}
	}

	stop(t, stack)
	stop(t, stack)
	if left := processesOf(t, filepath.Join(dir, "pawl-")); len(left) != 0 {
		t.Errorf("still running: %q", left)
	}
	wantEmpty(t, dir)
	if err := stack.Postgres().Restart(t.Context()); err == nil {
		t.Error("a server that was stopped for good started again")
	}
}

func answersSQL(t *testing.T, url string) {
	t.Helper()
	var encoding, collate string
	row := connect(t, url).QueryRow(t.Context(), `SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database WHERE datname = current_database()`)
	if err := row.Scan(&encoding, &collate); err != nil {
		t.Fatal(err)
	}
	if encoding != "UTF8" || collate != "C" {
		t.Errorf("the database is %s %s, want UTF8 C", encoding, collate)
	}
}

func refusesWithoutPassword(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []*url.Userinfo{url.User("pawl"), url.UserPassword("pawl", "guess"), url.User("postgres")} {
		u.User = user
		conn, err := pgx.Connect(t.Context(), u.String())
		if err == nil {
			_ = conn.Close(t.Context())
			t.Errorf("%s could connect", user)
		}
	}
}

func answersWorkflow(t *testing.T, address string) {
	t.Helper()
	_, err := dial(t, address).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "answers", TaskQueue: "nobody-listens",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("PawlTenant").ValueSet("acme"),
			temporal.NewSearchAttributeKeyKeyword("PawlTool").ValueSet("time"),
		),
	}, "Anything")
	if err != nil {
		t.Error(err)
	}
}

func TestTwoStacksAtOnce(t *testing.T) {
	t.Parallel()
	first := make(chan *devstack.Stack, 1)
	go func() {
		defer close(first)
		stack, err := devstack.Start(t.Context(), devstack.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		first <- stack
	}()
	second := startStack(t, devstack.Options{})
	other, ok := <-first
	if !ok {
		return
	}
	t.Cleanup(func() { stop(t, other) })
	if other.TemporalAddress() == second.TemporalAddress() || other.DatabaseURL() == second.DatabaseURL() {
		t.Error("two stacks share a server")
	}
	execute(t, other.DatabaseURL(), `CREATE TABLE mine (id int)`)
	stop(t, other)
	answersSQL(t, second.DatabaseURL())
	dial(t, second.TemporalAddress())
}

func TestAStackUsesExistingServersAndLeavesThemAlone(t *testing.T) {
	t.Parallel()
	postgres := startPostgres(t, devstack.PostgresOptions{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	stack := startStack(t, devstack.Options{TemporalAddress: listener.Addr().String(), DatabaseURL: postgres.URL(), UI: true})
	if stack.DatabaseURL() != postgres.URL() || stack.TemporalAddress() != listener.Addr().String() || stack.UIAddress() != "" {
		t.Errorf("it does not use the given servers: %s %s %s", stack.DatabaseURL(), stack.TemporalAddress(), stack.UIAddress())
	}
	stop(t, stack)
	answersSQL(t, postgres.URL())
}

func TestAnExistingServerThatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := listener.Addr().String()
	_ = listener.Close()
	_, err = devstack.Start(t.Context(), devstack.Options{TemporalAddress: dead, DatabaseURL: "postgres://u:hunter2@" + dead + "/db"})
	if err == nil {
		t.Fatal("it started without servers")
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error contains the password: %v", err)
	}
}

func TestAnAbortedStartLeavesNothing(t *testing.T) {
	dir := scratch(t)
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := devstack.Start(ctx, devstack.Options{Progress: func(line string) {
		if strings.HasPrefix(line, "starting Postgres") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the start ended with %v", err)
	}
	if left := processesOf(t, filepath.Join(dir, "pawl-")); len(left) != 0 {
		t.Errorf("still running: %q", left)
	}
	wantEmpty(t, dir)
}
