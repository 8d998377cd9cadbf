package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// checkTimeout is the maximum time for the checks of the database, for the check of the bucket, and for the checks of
// Temporal without that of the deployment, which bounds its questions itself.
const checkTimeout = 10 * time.Second

// diagnosis is the output of doctor with --json.
type diagnosis struct {
	Temporal struct {
		Address string `json:"address"`
		UI      string `json:"ui"`
	} `json:"temporal"`
	Database struct {
		// URL has no password.
		URL string `json:"url"`
	} `json:"database"`
	Worker struct {
		PIDs []int `json:"pids"`
	} `json:"worker"`
	Checks []checked `json:"checks"`
	// pools are the pools in the database.
	pools []catalog.Pool
}

type checked struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Message says what the check found and, if the check failed, what to do.
	Message string `json:"message"`
}

func newDoctor(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the servers, the database and the workers that calls need", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := diagnose(cmd.Context())
			failedChecks := 0
			for _, c := range d.Checks {
				if !c.OK {
					failedChecks++
				}
			}
			if a.JSON {
				if err := app.PrintJSON(a.Out, d); err != nil {
					return err
				}
			} else {
				for _, c := range d.Checks {
					mark := "ok  "
					if !c.OK {
						mark = "FAIL"
					}
					fmt.Fprintf(a.Out, "%s  %-10s  %s\n", mark, c.Name, app.Printable(c.Message))
				}
			}
			if failedChecks > 0 {
				return app.Silent(fmt.Errorf("%d checks failed", failedChecks))
			}
			return nil
		},
	}
}

func diagnose(ctx context.Context) *diagnosis {
	d := &diagnosis{}
	d.Worker.PIDs = []int{}
	c, err := worker.LoadConfig()
	if err != nil {
		d.add("config", err, "")
		return d
	}
	d.add("config", worker.CheckVariables(os.Environ()), "every variable is known")
	d.Temporal.Address = cmp.Or(c.Temporal.HostPort, temporal.DefaultHostPort)
	d.Temporal.UI = c.TemporalUI
	d.Database.URL = app.WithoutPassword(c.DatabaseURL)
	d.database(ctx, c)
	d.server(ctx, c)
	d.shell(ctx, c)
	return d
}

// add adds the line of a check. The check has failed if err is not nil; then the line says what err says, and otherwise fine.
func (d *diagnosis) add(name string, err error, fine string) {
	message := fine
	var database *postgres.Error
	switch {
	case errors.As(err, &database):
		message = health.DatabaseFault(err)
	case err != nil:
		message = err.Error()
	}
	d.Checks = append(d.Checks, checked{Name: name, OK: err == nil, Message: message})
}

func (d *diagnosis) database(unbounded context.Context, c worker.Config) {
	ctx, cancel := context.WithTimeout(unbounded, checkTimeout)
	defer cancel()
	if c.DatabaseURL == "" {
		d.add("database", errors.New("no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL=postgres://…"), "")
		return
	}
	store, err := postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 2, Application: "pawl-doctor"})
	if err != nil {
		d.add("database", app.ExplainConnectError(d.Database.URL, err), "")
		return
	}
	defer store.Close()
	d.add("database", nil, d.Database.URL+" answers")
	schema := store.CheckSchema(ctx)
	d.add("schema", schema, "up to date")
	if schema == nil {
		d.add("origin", store.CheckOrigin(ctx), "the database is not a restored backup")
	}
	active, ok, err := store.ActivePolicy(ctx)
	if err == nil && !ok {
		err = errors.New("no policy is active, so every call is denied: run `pawl policy apply FILE`")
	}
	d.add("policy", err, "active: "+active.Digest)
	d.permissions(ctx, store, active.Digest)
	namespace := cmp.Or(c.Temporal.Namespace, temporal.DefaultNamespace)
	store.UseNamespace(namespace)
	d.tools(store.LiveSpecs(ctx))
	workers, err := store.WorkerSources(ctx)
	conflicts, why := store.ToolConflicts(ctx, namespace)
	d.sources(workers, conflicts, errors.Join(err, why))
	if d.pools, err = store.Pools(ctx, namespace); err != nil {
		d.add("pools", err, "")
	}
	d.notices(ctx, store)
	d.endings(store.EndingBacklog(ctx, namespace))
	if err := store.OpenBucket(ctx, c.OutputBucket); err != nil {
		d.add("bucket", err, "")
	} else {
		d.bucket(unbounded, store, c)
	}
}

func (d *diagnosis) server(unbounded context.Context, c worker.Config) {
	ctx, cancel := context.WithTimeout(unbounded, checkTimeout)
	defer cancel()
	t, err := temporal.DialContext(ctx, app.WithTimeout(c.Temporal, checkTimeout))
	if err != nil {
		d.add("temporal", app.ExplainTemporalError(ctx, c.Temporal, err), "")
		return
	}
	defer t.Close()
	namespace := cmp.Or(c.Temporal.Namespace, temporal.DefaultNamespace)
	if _, err := t.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); err != nil {
		d.add("temporal", app.ExplainTemporalError(ctx, c.Temporal, err), "")
		return
	}
	d.add("temporal", nil, d.Temporal.Address+" answers, and has the namespace "+namespace)
	d.workers(ctx, t)
	d.checkPools(func(queue string) (int64, error) { return worker.OpenCalls(ctx, t, queue) })
	d.sweeper(ctx, t, c.SweepEvery > 0)
	if c.Deployment.Name != "" {
		fine, err := worker.CheckDeployment(unbounded, t, c.Deployment)
		d.add("deployment", err, fine)
	}
}

func (d *diagnosis) workers(ctx context.Context, t temporal.Client) {
	queue, err := t.DescribeTaskQueue(ctx, toolspec.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		d.add("worker", errors.New("temporal did not return the pollers of the task queue pawl"), "")
		return
	}
	alive := 0
	for _, poller := range queue.GetPollers() {
		pid, host, ok := pidOf(poller.GetIdentity())
		if ok && gone(pid, host) {
			continue // the server lists a poller for some minutes after its end
		}
		alive++
		if ok {
			d.Worker.PIDs = append(d.Worker.PIDs, pid)
		}
	}
	if alive == 0 {
		err = errors.New("no worker polls the task queue pawl: start one with `pawl worker`, or run `pawl dev`")
		if len(d.pools) > 0 {
			err = errors.New("no worker polls the task queue pawl, which takes in the calls of all pools: start one with `pawl worker`, without PAWL_POOL")
		}
	}
	d.add("worker", err, fmt.Sprintf("%d on the task queue pawl", alive))
}

// pidOf parses the process id and the host in a worker's identity.
func pidOf(identity string) (pid int, host string, ok bool) {
	rest, ok := strings.CutPrefix(identity, worker.IdentityPrefix)
	if !ok {
		return 0, "", false
	}
	number, host, _ := strings.Cut(rest, "@")
	pid, err := strconv.Atoi(number)
	return pid, host, err == nil && pid > 0
}

// gone reports whether the process has ended. It is false for a process of another host.
func gone(pid int, host string) bool {
	here, err := os.Hostname()
	return err == nil && host == here && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
