package worker

import (
	"context"

	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
)

// maxRefusal is the largest refusal of an update that is sent unchanged, in bytes. The limit of
// the server is 2 MiB, but one workflow task may contain many refusals.
const maxRefusal = 4 << 10

// dropRefusedArgs removes the arguments from large refusals of updates. The SDK sends a refused
// update back together with its refusal. If both exceed 2 MiB, the server terminates the workflow.
// No program reads these arguments.
func dropRefusedArgs(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		for _, message := range task.GetMessages() {
			message.Body = shortRefusal(message.GetBody())
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// shortRefusal returns a body without the arguments of the update, if the body is a refusal that
// is larger than maxRefusal. It returns every other body unchanged.
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
