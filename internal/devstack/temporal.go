package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
)

// namespace is a namespace of every dev server.
const namespace = "default"

// Without these settings, the defaults of the dev server dominate every measured latency.
var dynamicConfig = [...]string{
	"system.enableActivityEagerExecution=true",
	"history.transferProcessorMaxPollRPS=2000",
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
	"matching.enableFairness=true",
}

// TemporalOptions configure a Temporal. The zero value is a throwaway server that keeps everything in memory.
type TemporalOptions struct {
	Dir              string       // where its directory goes; "" = the system's temporary directory
	Persist          bool         // keep the state in Dir, needed then, and take up what is there; implies FileStore
	FileStore        bool         // keep the state in a file, so that it survives Kill and Restart
	Full             bool         // run all services of a full server, with a Postgres of its own for its state, instead of a dev server
	Fsync            bool         // with Full: make commits of that Postgres survive a power cut
	UI               bool         // serve the Temporal UI
	SearchAttributes []string     // names of keyword search attributes to register in the namespace; at most 10
	DynamicConfig    []string     // further KEY=VALUE settings, VALUE in JSON
	CacheDir         string       // where a built Temporal CLI is kept; "" = ${XDG_CACHE_HOME:-~/.cache}/pawl
	Progress         func(string) // gets one line at a time; nil = silent
}

// Temporal is a running Temporal dev server. It is safe for concurrent use.
type Temporal struct {
	*server
	program string
	options TemporalOptions
	full    *full // nil for a dev server
	port    int
	uiPort  int // 0 = none
}

// StartTemporal starts a Temporal dev server. It returns when its namespace answers, after about two seconds; the very first start takes
// minutes if the Temporal CLI must be built. ctx bounds the start only. A failed start leaves only a log, which the error names.
func StartTemporal(ctx context.Context, o TemporalOptions) (*Temporal, error) {
	t := &Temporal{}
	var err error
	if o.Full {
		t.full, err = openFull(ctx, o)
	} else {
		t.program, err = temporalcli.Find(ctx, temporalcli.Options{CacheDir: o.CacheDir, Progress: o.Progress})
	}
	if err != nil {
		return nil, err
	}
	home, err := openHome(ctx, "temporal", o.Dir, o.Persist, nil)
	if err == nil {
		t.server, err = openServer(home, "Temporal", "temporal", supervise.Step{Signal: supervise.Terminate, Wait: 10 * time.Second})
	}
	if err != nil {
		return nil, errors.Join(err, t.closeStore())
	}
	if o.Progress != nil {
		o.Progress("starting Temporal")
	}
	o.SearchAttributes, o.DynamicConfig = slices.Clone(o.SearchAttributes), slices.Clone(o.DynamicConfig)
	t.options = o
	if err := t.startServer(ctx); err != nil {
		return nil, errors.Join(t.abandon(err), t.closeStore())
	}
	return t, nil
}

// startServer makes the tables of a full server, chooses ports and starts the server. If another process takes a port
// meanwhile, it tries other ports, at most startAttempts times in all.
func (t *Temporal) startServer(ctx context.Context) (err error) {
	if t.full != nil {
		if err := t.makeTables(ctx); err != nil {
			return err
		}
	}
	for range startAttempts {
		if t.port, err = t.home.port("port", 0); err != nil {
			return err
		}
		if t.options.UI {
			if t.uiPort, err = t.home.port("ui-port", t.port); err != nil {
				return err
			}
		}
		if t.full != nil {
			if err := t.full.choosePorts(t.port); err != nil {
				return err
			}
		}
		if err = t.serve(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (t *Temporal) serve(ctx context.Context) error {
	if t.full != nil {
		return t.serveFull(ctx)
	}
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(t.port),
		"--log-level", "warn", "--color", "never",
	}
	if t.uiPort != 0 {
		args = append(args, "--ui-port", strconv.Itoa(t.uiPort))
	} else {
		args = append(args, "--headless")
	}
	if t.options.Persist || t.options.FileStore {
		args = append(args, "--db-filename", t.home.path("temporal.db"))
	}
	for _, setting := range slices.Concat(dynamicConfig[:], t.options.DynamicConfig) {
		args = append(args, "--dynamic-config-value", setting)
	}
	for _, name := range t.options.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	return t.launch(ctx, supervise.Command{
		Path: t.program, Args: args, Dir: t.home.dir, Env: serverEnv(t.home.dir), Signal: supervise.Terminate,
	}, t.ready)
}

// ready reports whether the server answers, its namespace exists and the UI, if any, answers.
func (t *Temporal) ready(ctx context.Context) error {
	// A TCP connection is refused at once, while gRPC would back off for seconds.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Address())
	if err != nil {
		return err
	}
	_ = conn.Close()
	dialled, err := client.DialContext(ctx, client.Options{
		HostPort: t.Address(), Namespace: namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer dialled.Close()
	if t.full != nil {
		if err := t.makeNamespace(ctx, dialled); err != nil {
			return err
		}
	}
	if _, err := dialled.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); err != nil {
		return err
	}
	if t.uiPort == 0 {
		return nil
	}
	return answersHTTP(ctx, t.UIAddress())
}

func answersHTTP(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: the server is on this machine
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the Temporal UI answers %s", response.Status)
	}
	return nil
}

// Address returns the host:port of the frontend. Restart does not change it.
func (t *Temporal) Address() string { return address(t.port) }

// Namespace returns the namespace to use: "default".
func (t *Temporal) Namespace() string { return namespace }

// UIAddress returns the URL of the UI, "" without a UI. Restart does not change it.
func (t *Temporal) UIAddress() string {
	if t.uiPort == 0 {
		return ""
	}
	return "http://" + address(t.uiPort)
}

// Kill sends SIGKILL to the server. Restart starts it again, with its state if it has a FileStore.
func (t *Temporal) Kill() error { return t.crash(func() { t.proc.Kill() }) }

// Restart starts a killed server on the same ports. It first stops a server that runs, in good
// order.
func (t *Temporal) Restart(ctx context.Context) error { return t.restart(ctx, t.serve) }
