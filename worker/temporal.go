package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/activities/join"
	"github.com/pawl-run/pawl/activities/upkeep"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
	agentflow "github.com/pawl-run/pawl/workflows/agent"
	"github.com/pawl-run/pawl/workflows/contract"
	upkeepflow "github.com/pawl-run/pawl/workflows/upkeep"
)

const (
	// stickyTimeout is how long a call waits if its worker is lost, before another worker
	// continues it.
	stickyTimeout = time.Second
	// stopTimeout is how long running steps have to end when the worker stops. Every step is
	// shorter.
	stopTimeout = 10 * time.Second
	// IdentityPrefix is the beginning of the identity of a worker. The process id follows.
	IdentityPrefix = "pawl-worker:"
)

// dial connects to the Temporal server. Heartbeats that fail are sent again, and large refusals of
// updates are sent without their arguments.
func dial(ctx context.Context, c Config) (client.Client, error) {
	options := c.Temporal
	if c.telemetry != nil { // Connect measures nothing
		var err error
		if options, err = c.telemetry.Client(options); err != nil {
			return nil, err
		}
	}
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Logger = sdkLogger{sdklog.NewStructuredLogger(c.Log)}
	options.ConnectionOptions.DialOptions = append(slices.Clone(options.ConnectionOptions.DialOptions),
		grpc.WithChainUnaryInterceptor(dropRefusedArgs, retryHeartbeats))
	return client.DialContext(ctx, options)
}

// sdkLogger is the logger of the SDK. The SDK logs each cancelled activity as an error. sdkLogger logs it at the level
// debug, because a person who stops a call or a run causes no error.
type sdkLogger struct{ sdklog.Logger }

func (l sdkLogger) Error(message string, keyvals ...any) {
	isCancelled := func(value any) bool {
		err, ok := value.(error)
		return ok && sdktemporal.IsCanceledError(err)
	}
	if slices.ContainsFunc(keyvals, isCancelled) {
		l.Debug(message, keyvals...)
		return
	}
	l.Logger.Error(message, keyvals...)
}

// needSearchAttributes registers the search attributes that calls write. If the worker may not
// register them, or one of them has another type, it does not start: a workflow task that writes an attribute that the
// namespace does not take fails forever.
func needSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	operator := temporal.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if health.NoNamespace(err) { // needNamespace has found the namespace, so only this part of the server does not know it yet
		return errNewNamespace
	}
	fault := "are missing and could not be registered"
	if err != nil {
		fault = "could be neither listed nor registered"
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for _, name := range contract.SearchAttributeNames() {
		switch kind := known.GetCustomAttributes()[name]; kind {
		case enumspb.INDEXED_VALUE_TYPE_KEYWORD, enumspb.INDEXED_VALUE_TYPE_TEXT: // a text takes the values too
		case enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED:
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		default: // the server ignores a registration of a name that has another type
			return fmt.Errorf("the search attribute %s has the type %s in this namespace, and a call writes a Keyword: have it removed and created with the type Keyword, or run with PAWL_SEARCH_ATTRIBUTES=off", name, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	var exists *serviceerror.AlreadyExists
	if err == nil || errors.As(err, &exists) {
		return nil
	}
	if health.NoNamespace(err) {
		return errNewNamespace
	}
	if away(err) {
		return err
	}
	return fmt.Errorf("search attributes %s: %w; have them created (%s), or run with PAWL_SEARCH_ATTRIBUTES=off",
		fault, err, "temporal operator search-attribute create --type Keyword --name "+strings.Join(contract.SearchAttributeNames(), " --type Keyword --name "))
}

// errNewNamespace means that the namespace exists, but that not every part of the Temporal server knows it yet.
var errNewNamespace = errors.New("the namespace in TEMPORAL_NAMESPACE is new, and Temporal does not know it everywhere yet: wait some seconds")

// needNamespace checks that the namespace exists and that calls can be started in it. A server knows a new namespace
// everywhere only after some seconds.
func needNamespace(ctx context.Context, temporal client.Client, namespace string) error {
	_, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	switch {
	case health.NoNamespace(err):
		return errors.New(health.NamespaceFault(namespace))
	case away(err):
		return err
	case err != nil: // for example, this worker may not describe it; a fault shows at the start of the Temporal worker
		return nil //nolint:nilerr // see above
	}
	_, err = temporal.DescribeTaskQueue(ctx, toolspec.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if health.NoNamespace(err) {
		return errNewNamespace
	}
	if away(err) {
		return err
	}
	return nil
}

// maker makes the Temporal worker of a task queue. After a failed start a Temporal worker cannot start again,
// so each try needs a new Temporal worker.
type maker func(queue string) worker.Worker

func newMaker(temporal client.Client, c Config, a *activities.Activities, s *upkeep.Sweeper, v *upkeep.Verifier, r *upkeep.Resealer, j *join.Joiner, g *agent.Agents, fail context.CancelCauseFunc) maker {
	return func(queue string) worker.Worker { return newWorker(temporal, queue, c, a, s, v, r, j, g, fail) }
}

// newWorker makes the Temporal worker of a task queue and registers everything on it.
func newWorker(temporal client.Client, queue string, c Config, a *activities.Activities, s *upkeep.Sweeper, v *upkeep.Verifier, r *upkeep.Resealer, j *join.Joiner, g *agent.Agents, fail context.CancelCauseFunc) worker.Worker {
	locals, version := c.localActivities(), c.Deployment
	if queue != toolspec.PoolQueue(c.Pool) {
		locals = 1             // the connections to the database are for the worker's own calls
		version = Deployment{} // the version is for the worker's own queue only
	}
	w := worker.New(temporal, queue, worker.Options{
		Identity:                                identity(),
		MaxConcurrentLocalActivityExecutionSize: locals,
		MaxConcurrentWorkflowTaskExecutionSize:  c.workflowTasks(),
		WorkflowTaskPollerBehavior:              worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior:              worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		StickyScheduleToStartTimeout:            stickyTimeout,
		WorkerStopTimeout:                       stopTimeout,
		MaxHeartbeatThrottleInterval:            beatThrottle,
		DefaultHeartbeatThrottleInterval:        beatThrottle,
		DisableRegistrationAliasing:             true,
		DeploymentOptions:                       version.options(),
		OnFatalError: func(error) {
			fail(errFatal) // the SDK has logged the error
		},
	})
	bound := c.telemetry.Observe(w)
	w.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	a.Register(bound)
	w.RegisterWorkflowWithOptions(agentflow.Run, workflow.RegisterOptions{Name: pawlagent.WorkflowType})
	w.RegisterWorkflowWithOptions(agentflow.Fire, workflow.RegisterOptions{Name: contract.FireTriggerType})
	g.Register(bound)
	// The worker registers Sweep even if it makes no schedule: another worker may have made the
	// schedule.
	w.RegisterWorkflowWithOptions(upkeepflow.Sweep, workflow.RegisterOptions{Name: upkeepflow.SweepType})
	s.Register(bound)
	w.RegisterWorkflowWithOptions(upkeepflow.VerifyHistory, workflow.RegisterOptions{Name: upkeepflow.VerifyType})
	v.Register(bound)
	w.RegisterWorkflowWithOptions(upkeepflow.ResealSecrets, workflow.RegisterOptions{Name: upkeepflow.ResealType})
	r.Register(bound)
	j.Register(bound)
	return w
}

// signals sends the messages of the outbox to running calls.
type signals struct{ temporal client.Client }

// Send sends one message. It returns outbox.ErrGone if the workflow of the call has ended.
func (s signals) Send(ctx context.Context, m outbox.Message) error {
	var payload any
	if len(m.Payload) > 0 {
		payload = m.Payload
	}
	err := s.temporal.SignalWorkflow(ctx, m.WorkflowID, "", m.Signal, payload)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return outbox.ErrGone
	}
	return err
}
