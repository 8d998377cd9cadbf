package worker

import (
	"context"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

const (
	// beatThrottle lets every heartbeat of a running tool through, which the SDK would thin out: cancels travel on them.
	beatThrottle = 100 * time.Millisecond
	// beatTimeout is how long a heartbeat may take to reach the server. With the two seconds since the one before it, and the one that a tool
	// has to stop, it is less than the eight after which the server gives the attempt up: a worker that is cut off stops its tools before
	// somebody else may run them again.
	beatTimeout = 4 * time.Second
	// beatTry bounds one try of it: an answer may have been lost.
	beatTry = 2 * time.Second
)

var tryBeats = retry.UnaryClientInterceptor(
	retry.WithMax(100), retry.WithBackoff(retry.BackoffExponentialWithJitterBounded(50*time.Millisecond, 0.2, time.Second)), retry.WithPerRetryTimeout(beatTry),
	retry.WithCodes(codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown),
)

// keepBeating gives heartbeats the time that they have. The SDK gives each a second, or the throttle where that is longer, and takes any
// failure for the end of the attempt: a server that answers late once would stop every tool that runs, and leave unknown what they have done.
func keepBeating(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if _, ok := request.(*workflowservice.RecordActivityTaskHeartbeatRequest); !ok || ctx.Err() != nil {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	return tryBeats(ctx, method, request, reply, conn, invoke, options...)
}
