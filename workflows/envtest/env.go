package envtest

import (
	"log/slog"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// New returns a test environment for a workflow. The environment writes no log.
func New() *testsuite.TestWorkflowEnvironment {
	env := suite().NewTestWorkflowEnvironment()
	Set(env, worker.Options{})
	return env
}

// NewForActivity returns a test environment for an activity. The environment writes no
// log.
func NewForActivity() *testsuite.TestActivityEnvironment {
	return suite().NewTestActivityEnvironment()
}

func suite() *testsuite.WorkflowTestSuite {
	var s testsuite.WorkflowTestSuite
	s.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return &s
}

// Set replaces the worker options of env, apart from the deadlock timeout and the
// interceptors, which Set chooses. The environment measures local activities and
// heartbeats by a real clock, so Set gives each at least one minute. Otherwise, a test on
// a busy machine would report a deadlock or a lost step.
func Set(env *testsuite.TestWorkflowEnvironment, o worker.Options) {
	o.DeadlockDetectionTimeout = time.Minute
	o.Interceptors = []interceptor.WorkerInterceptor{&patience{}}
	env.SetWorkerOptions(o)
	env.SetTestTimeout(time.Minute)
}

// patience raises the timeouts of local activities and heartbeats to at least one minute.
type patience struct {
	interceptor.WorkerInterceptorBase
}

func (*patience) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &patientCall{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type patientCall struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (p *patientCall) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return p.Next.Init(&patientSteps{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type patientSteps struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (p *patientSteps) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o := workflow.GetLocalActivityOptions(ctx)
	o.StartToCloseTimeout = max(o.StartToCloseTimeout, time.Minute)
	return p.Next.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, o), name, args...)
}

func (p *patientSteps) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if o := workflow.GetActivityOptions(ctx); o.HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, max(o.HeartbeatTimeout, time.Minute))
	}
	return p.Next.ExecuteActivity(ctx, name, args...)
}
