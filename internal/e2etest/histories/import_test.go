package histories

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/internal/e2etest"
)

// importHistory creates a workflow run from a recorded history in the namespace of the world, with the API of the server for moving runs. An open call goes on
// at the point at which it was recorded. The admin service is in no module that Pawl uses, so the request is encoded by hand.
func importHistory(w *e2etest.World, workflowID, runID string, h *historypb.History) {
	w.T.Helper()
	var token []byte
	for _, batch := range append(batches(h), nil) { // the last request, without a batch, commits
		request := importRequest(w.Namespace, workflowID, runID, batch, h, token)
		answer, err := admin(w.T.Context(), w, "ImportWorkflowExecution", request)
		if err != nil {
			w.T.Fatalf("import %s: %v", workflowID, err)
		}
		token = importToken(answer)
	}
	if len(token) > 0 {
		w.T.Fatalf("import %s: not committed", workflowID)
	}
}

// batches splits a history into the batches in which the server wrote it: the end of a workflow task together with the events of its commands, and every other
// event alone.
func batches(h *historypb.History) (all [][]*historypb.HistoryEvent) {
	for _, e := range h.GetEvents() {
		completed := int64(-1)
		if n := len(all); n > 0 {
			if first := all[n-1][0]; first.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				completed = first.GetEventId()
			}
		}
		if completed >= 0 && broughtBy(e) == completed {
			all[len(all)-1] = append(all[len(all)-1], e)
			continue
		}
		all = append(all, []*historypb.HistoryEvent{e})
	}
	return all
}

// broughtBy returns the id of the event that ended the workflow task whose command caused this event, or 0 if no command did.
func broughtBy(e *historypb.HistoryEvent) int64 {
	switch {
	case e.GetMarkerRecordedEventAttributes() != nil:
		return e.GetMarkerRecordedEventAttributes().GetWorkflowTaskCompletedEventId()
	case e.GetTimerStartedEventAttributes() != nil:
		return e.GetTimerStartedEventAttributes().GetWorkflowTaskCompletedEventId()
	case e.GetTimerCanceledEventAttributes() != nil:
		return e.GetTimerCanceledEventAttributes().GetWorkflowTaskCompletedEventId()
	case e.GetActivityTaskScheduledEventAttributes() != nil:
		return e.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()
	case e.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil:
		return e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowTaskCompletedEventId()
	case e.GetUpsertWorkflowSearchAttributesEventAttributes() != nil:
		return e.GetUpsertWorkflowSearchAttributesEventAttributes().GetWorkflowTaskCompletedEventId()
	}
	return 0
}

// importRequest encodes a temporal.server.api.adminservice.v1.ImportWorkflowExecutionRequest.
func importRequest(namespace, workflowID, runID string, batch []*historypb.HistoryEvent, h *historypb.History, token []byte) []byte {
	field := func(to []byte, n protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, n, protowire.BytesType), value)
	}
	encoded := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		return b
	}
	request := field(nil, 1, []byte(namespace))
	request = field(request, 2, encoded(&common.WorkflowExecution{WorkflowId: workflowID, RunId: runID}))
	if batch != nil {
		request = field(request, 3, encoded(&common.DataBlob{
			EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: encoded(&historypb.History{Events: batch}),
		}))
	}
	// The version history has one item: {event_id, version}. A namespace of one cluster has the version 0.
	last := h.GetEvents()[len(h.GetEvents())-1].GetEventId()
	item := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(last))
	request = field(request, 4, field(nil, 2, item))
	return field(request, 5, token)
}

// importToken returns the only field of an ImportWorkflowExecutionResponse.
func importToken(answer []byte) []byte {
	if number, kind, n := protowire.ConsumeTag(answer); n > 0 && number == 1 && kind == protowire.BytesType {
		token, _ := protowire.ConsumeBytes(answer[n:])
		return token
	}
	return nil
}

// admin calls a method of the admin service of the server. It writes the gRPC request itself, without compression.
func admin(ctx context.Context, w *e2etest.World, method string, message []byte) ([]byte, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	frame := append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(message)))...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+w.Address+"/temporal.server.api.adminservice.v1.AdminService/"+method, bytes.NewReader(append(frame, message...)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	status, text := response.Trailer.Get("Grpc-Status"), response.Trailer.Get("Grpc-Message")
	if status == "" { // an answer without a body has its trailers in the header
		status, text = response.Header.Get("Grpc-Status"), response.Header.Get("Grpc-Message")
	}
	if status != "0" {
		text, _ = url.PathUnescape(text)
		return nil, fmt.Errorf("%s: gRPC status %s: %s", method, status, text)
	}
	if len(body) < len(frame) {
		return nil, errors.New("no message")
	}
	return body[len(frame):], nil
}
