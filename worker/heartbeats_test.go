package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestKeepBeating: a heartbeat is retried for longer than the SDK would wait, and for less time than the server
// waits for a heartbeat.
func TestKeepBeating(t *testing.T) {
	silent := func(ctx context.Context, _ int) error { <-ctx.Done(); return status.FromContextError(ctx.Err()).Err() }
	beat, other := &workflowservice.RecordActivityTaskHeartbeatRequest{}, &workflowservice.RespondActivityTaskCompletedRequest{}
	for _, tc := range []struct {
		name    string
		request any
		server  func(ctx context.Context, try int) error
		code    codes.Code
		took    func(time.Duration) bool
	}{
		{"that answers", beat, func(context.Context, int) error { return nil }, codes.OK, func(d time.Duration) bool { return d == 0 }},
		{"that answers late", beat, func(ctx context.Context, _ int) error {
			select {
			case <-ctx.Done():
				return silent(ctx, 0)
			case <-time.After(1900 * time.Millisecond):
				return nil
			}
		}, codes.OK, func(d time.Duration) bool { return d == 1900*time.Millisecond }},
		{"whose answer was lost", beat, func(ctx context.Context, try int) error {
			if try == 1 {
				return silent(ctx, try)
			}
			return nil
		}, codes.OK, func(d time.Duration) bool { return d >= beatTry && d < 3*time.Second }},
		{"that is not there for a while", beat, func(_ context.Context, try int) error {
			if try < 8 {
				return status.Error(codes.Unavailable, "refused")
			}
			return nil
		}, codes.OK, func(d time.Duration) bool { return d > 2*time.Second && d < beatTimeout }},
		{"that is silent", beat, silent, codes.DeadlineExceeded, func(d time.Duration) bool { return d == beatTimeout }},
		{"that is not there", beat, func(context.Context, int) error { return status.Error(codes.Unavailable, "refused") }, codes.DeadlineExceeded,
			func(d time.Duration) bool { return d == beatTimeout }},
		{"that has given the attempt up", beat, func(context.Context, int) error { return status.Error(codes.NotFound, "gone") }, codes.NotFound,
			func(d time.Duration) bool { return d == 0 }},
		{"that is silent to another request", other, silent, codes.DeadlineExceeded, func(d time.Duration) bool { return d == time.Second }},
	} {
		t.Run("a server "+tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				tries := 0
				invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
					tries++
					return tc.server(ctx, tries)
				}
				began := time.Now()
				err := retryHeartbeats(ctx, "", tc.request, nil, nil, invoke)
				if took := time.Since(began); status.Code(err) != tc.code || !tc.took(took) {
					t.Errorf("%v after %s and %d tries, want %s", err, took, tries, tc.code)
				}
			})
		})
	}
}
