package devstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
	"github.com/pawl-run/pawl/internal/devstack/supervise"
	"github.com/pawl-run/pawl/internal/devstack/temporalserver"
)

// The databases of a full server, and how long its namespace keeps histories.
const (
	temporalDatabase   = "temporal"
	visibilityDatabase = "temporal_visibility"
	retention          = 72 * time.Hour
)

//go:embed temporal_full.yaml
var fullConfig string

// full is what a Temporal with Postgres persistence has besides a dev server.
type full struct {
	programs temporalserver.Programs
	store    *Postgres
	// ports are the ports of the services except the frontend, and of the membership of all services.
	ports []int
}

// fullServices are the services of a server. The first one has the address of the server.
var fullServices = [...]string{"frontend", "matching", "history", "worker"}

// openFull builds the programs of a full server, starts its Postgres and makes the tables.
func openFull(ctx context.Context, o TemporalOptions) (*full, error) {
	if o.Persist || o.UI {
		return nil, errors.New("a full Temporal server keeps no data and has no UI here: leave Persist and UI out")
	}
	programs, err := temporalserver.Find(ctx, pinned.Options{CacheDir: o.CacheDir, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	store, err := StartPostgres(ctx, PostgresOptions{Dir: o.Dir, Fsync: o.Fsync, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	f := &full{programs: programs, store: store}
	if err := f.makeDatabases(ctx); err != nil {
		return nil, errors.Join(err, store.Stop(context.WithoutCancel(ctx)))
	}
	return f, nil
}

func (f *full) makeDatabases(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, f.store.URL())
	if err != nil {
		return fmt.Errorf("make the databases of Temporal: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, name := range []string{temporalDatabase, visibilityDatabase} {
		if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
			return fmt.Errorf("make the databases of Temporal: %w", err)
		}
	}
	return nil
}

// makeTables brings the schemas of both databases to the version of the server. The tool's output goes to the server's log.
func (t *Temporal) makeTables(ctx context.Context) error {
	for database, schema := range map[string]string{
		temporalDatabase: "postgresql/v12/temporal", visibilityDatabase: "postgresql/v12/visibility",
	} {
		for _, step := range [][]string{{"setup-schema", "--version", "0.0"}, {"update-schema", "--schema-name", schema}} {
			err := t.run(ctx, supervise.Command{
				Path: t.full.programs.SQL, Args: append([]string{"--database", database}, step...), Dir: t.home.dir, Group: true,
				// The password is in the environment, because every user of the machine can read the arguments of a
				// process.
				Env: append(serverEnv(t.home.dir), "SQL_PLUGIN=postgres12_pgx", "SQL_HOST=127.0.0.1",
					"SQL_PORT="+strconv.Itoa(t.full.store.port), "SQL_USER="+superuser, "SQL_PASSWORD="+t.full.store.password),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// choosePorts draws free ports for the services besides the frontend.
func (f *full) choosePorts(frontend int) error {
	f.ports = nil
	for len(f.ports) < 2*len(fullServices)-1 {
		port, err := FreePort()
		if err != nil {
			return err
		}
		if port != frontend && !slices.Contains(f.ports, port) {
			f.ports = append(f.ports, port)
		}
	}
	return nil
}

// configure writes the configuration of the server, with the password of its database, and returns the path.
func (t *Temporal) configure() (string, error) {
	type service struct {
		Name             string
		Port, Membership int
	}
	services, ports := make([]service, len(fullServices)), append([]int{t.port}, t.full.ports...)
	for i, name := range fullServices {
		services[i] = service{Name: name, Port: ports[2*i], Membership: ports[2*i+1]}
	}
	dynamic, path := t.home.path("dynamic.yaml"), t.home.path("temporal.yaml")
	var settings strings.Builder
	for _, setting := range slices.Concat(dynamicConfig[:], t.options.DynamicConfig) {
		key, value, _ := strings.Cut(setting, "=")
		fmt.Fprintf(&settings, "%s:\n- value: %s\n", key, value)
	}
	var text strings.Builder
	err := template.Must(template.New("").Parse(fullConfig)).Execute(&text, map[string]any{
		"Default": temporalDatabase, "Visibility": visibilityDatabase, "Store": address(t.full.store.port), "User": superuser,
		"Password": strconv.Quote(t.full.store.password), "Services": services, "Address": t.Address(), "Dynamic": strconv.Quote(dynamic),
	})
	if err == nil {
		err = errors.Join(os.WriteFile(dynamic, []byte(settings.String()), 0o600), os.WriteFile(path, []byte(text.String()), 0o600))
	}
	if err != nil {
		return "", fmt.Errorf("write the configuration of Temporal: %w", err)
	}
	return path, nil
}

func (t *Temporal) serveFull(ctx context.Context) error {
	path, err := t.configure()
	if err != nil {
		return err
	}
	return t.launch(ctx, supervise.Command{
		Path: t.full.programs.Server, Args: []string{"--config-file", path, "--allow-no-auth", "start"},
		Dir: t.home.dir, Env: serverEnv(t.home.dir), Signal: supervise.Terminate,
	}, t.ready)
}

// makeNamespace makes the namespace with its search attributes. A dev server does this itself.
func (t *Temporal) makeNamespace(ctx context.Context, dialled client.Client) error {
	_, err := dialled.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	if err != nil && !errors.As(err, new(*serviceerror.NamespaceAlreadyExists)) {
		return err
	}
	if len(t.options.SearchAttributes) == 0 {
		return nil
	}
	attributes := map[string]enumspb.IndexedValueType{}
	for _, name := range t.options.SearchAttributes {
		attributes[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	listed, err := dialled.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	for name := range listed.GetCustomAttributes() {
		delete(attributes, name)
	}
	if len(attributes) == 0 {
		// The server takes some seconds to learn new attributes. Until then it refuses a query that names all of them, and the
		// caller tries again.
		_, err := dialled.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: strings.Join(t.options.SearchAttributes, " = 'none' AND ") + " = 'none'",
		})
		return err
	}
	_, err = dialled.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: attributes,
	})
	if err == nil {
		err = errors.New("the search attributes are new")
	}
	return err
}

// Store returns the Postgres in which a full server keeps its state, nil for a dev server.
func (t *Temporal) Store() *Postgres {
	if t.full == nil {
		return nil
	}
	return t.full.store
}

// Stop stops the server, and then its Postgres if it has one. Later calls do nothing.
func (t *Temporal) Stop(ctx context.Context) error {
	err := t.server.Stop(ctx)
	if t.full != nil {
		err = errors.Join(err, t.full.store.Stop(ctx))
	}
	return err
}

// closeStore stops the Postgres of a full server that does not start.
func (t *Temporal) closeStore() error {
	if t.full == nil {
		return nil
	}
	return t.full.store.Stop(context.Background())
}
