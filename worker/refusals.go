package worker

import (
	"context"

	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
)

// maxRefusal is from which size on the refusal of an update leaves out what it
// refuses, in bytes. The server's own limit is 2 MB for one, and a task may
// refuse many.
const maxRefusal = 4 << 10

// shortenRefusals keeps an update that is much too large from ending its call.
// The SDK sends a refused update back with its refusal, and where that exceeds
// 2 MB the server terminates the workflow. Nobody reads what is sent back.
func shortenRefusals(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		for _, message := range task.GetMessages() {
			message.Body = shortRefusal(message.GetBody())
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// shortRefusal returns the body without the arguments of the update, where it is
// a refusal that is too large; any other as it is.
func shortRefusal(body *anypb.Any) *anypb.Any {
	var refusal update.Rejection
	if len(body.GetValue()) <= maxRefusal || !body.MessageIs(&refusal) || body.UnmarshalTo(&refusal) != nil {
		return body
	}
	if input := refusal.GetRejectedRequest().GetInput(); input != nil {
		input.Args = nil
	}
	short, err := anypb.New(&refusal)
	if err != nil {
		return body
	}
	return short
}
