package failpoint

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// hangUpTimeout bounds the end of the polls before a process stops.
const hangUpTimeout = 20 * time.Second

// polls are the requests by which a worker waits for tasks. A stopped process keeps its
// connections, so the server would give a task to each open poll. Each of these tasks would time
// out, and a call would wait for minutes. So the process ends its polls before it stops.
type polls struct {
	mu   sync.Mutex
	live map[*poll]bool
	// gate is closed while polls may start.
	gate chan struct{}
	conn *grpc.ClientConn
}

type poll struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func newPolls() *polls {
	p := &polls{live: map[*poll]bool{}, gate: make(chan struct{})}
	close(p.gate)
	return p
}

func isPoll(request any) bool {
	switch request.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest, *workflowservice.PollActivityTaskQueueRequest, *workflowservice.PollNexusTaskQueueRequest:
		return true
	}
	return false
}

// run makes one poll. It waits until polls may start.
func (p *polls) run(ctx context.Context, conn *grpc.ClientConn, invoke func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &poll{cancel: cancel, ended: make(chan struct{})}
	defer close(one.ended)
	for !p.enter(one, conn) {
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		p.mu.Lock()
		delete(p.live, one)
		p.mu.Unlock()
	}()
	return invoke(ctx)
}

func (p *polls) enter(one *poll, conn *grpc.ClientConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		p.live[one], p.conn = true, conn
		return true
	default:
		return false
	}
}

// hangUp ends all polls. No poll starts until resume is called.
func (p *polls) hangUp() (resume func()) {
	p.mu.Lock()
	gate := make(chan struct{})
	p.gate = gate
	conn := p.conn
	var ending []*poll
	for one := range p.live {
		one.cancel()
		ending = append(ending, one)
	}
	p.mu.Unlock()
	for _, one := range ending {
		<-one.ended
	}
	if conn != nil {
		// The server reads a connection in order: after this answer, it has read the cancellation
		// of the polls.
		ctx, cancel := context.WithTimeout(context.Background(), hangUpTimeout)
		defer cancel()
		_, _ = workflowservice.NewWorkflowServiceClient(conn).GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	}
	return func() { close(gate) }
}
