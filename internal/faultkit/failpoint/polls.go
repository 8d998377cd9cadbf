package failpoint

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// hangUpTimeout bounds how long a process takes to hang up before it stops.
const hangUpTimeout = 20 * time.Second

// polls are the requests by which a worker waits for tasks. A process that is
// stopped keeps its connections, and the server would give it a task for every
// open one, to be missed after its timeout: minutes until a call goes on. Before
// it stops, the process hangs up.
type polls struct {
	mu   sync.Mutex
	live map[*poll]bool
	// gate is closed while polls may begin.
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

// run makes one poll, once polls may begin.
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

// hangUp ends all polls, and makes no more until resume is called.
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
		// What the server has answered on this connection, it has read what came before.
		ctx, cancel := context.WithTimeout(context.Background(), hangUpTimeout)
		defer cancel()
		_, _ = workflowservice.NewWorkflowServiceClient(conn).GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	}
	return func() { close(gate) }
}
