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
	// beatThrottle is the minimum time between two heartbeats of a tool. The default of the SDK is
	// longer; but a tool learns of a cancel only from the answer to a heartbeat.
	beatThrottle = 100 * time.Millisecond
	// beatTimeout is the time limit of one heartbeat, with its retries. The server gives up an
	// attempt 8 s after its last heartbeat, and another worker may then run the tool again. A
	// worker without connection must stop its tool earlier: 2 s between heartbeats, 4 s for the
	// heartbeat and 1 s for the tool to stop are 7 s.
	beatTimeout = 4 * time.Second
	// beatTry is the time limit of one try of a heartbeat, because an answer may be lost.
	beatTry = 2 * time.Second
)

var tryBeats = retry.UnaryClientInterceptor(
	retry.WithMax(100), retry.WithBackoff(retry.BackoffExponentialWithJitterBounded(50*time.Millisecond, 0.2, time.Second)), retry.WithPerRetryTimeout(beatTry),
	retry.WithCodes(codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown),
)

// retryHeartbeats retries a heartbeat that fails, for beatTimeout. Without it, the SDK gives a heartbeat only a
// second, or the throttle interval if that is longer, and ends the attempt after any failure. One late answer of the
// server would stop every running tool, and Pawl would not know whether their calls took effect.
func retryHeartbeats(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if _, ok := request.(*workflowservice.RecordActivityTaskHeartbeatRequest); !ok || ctx.Err() != nil {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	return tryBeats(ctx, method, request, reply, conn, invoke, options...)
}
