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
	o.Interceptors = []interceptor.WorkerInterceptor{&longTimeouts{}}
	env.SetWorkerOptions(o)
	env.SetTestTimeout(time.Minute)
}

// longTimeouts raises the timeouts of local activities and heartbeats to at least one minute.
type longTimeouts struct {
	interceptor.WorkerInterceptorBase
}

func (*longTimeouts) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &longTimeoutsCall{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type longTimeoutsCall struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (p *longTimeoutsCall) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return p.Next.Init(&longTimeoutsSteps{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type longTimeoutsSteps struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (p *longTimeoutsSteps) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o := workflow.GetLocalActivityOptions(ctx)
	o.StartToCloseTimeout = max(o.StartToCloseTimeout, time.Minute)
	return p.Next.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, o), name, args...)
}

func (p *longTimeoutsSteps) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if o := workflow.GetActivityOptions(ctx); o.HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, max(o.HeartbeatTimeout, time.Minute))
	}
	return p.Next.ExecuteActivity(ctx, name, args...)
}
