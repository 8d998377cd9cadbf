package e2etest

import (
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// TestEventTracesOfMarkers: the trace of a local activity has the name of the activity, and a marker of a version is not taken for a local activity.
func TestEventTracesOfMarkers(t *testing.T) {
	t.Parallel()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(struct{ ActivityType string }{"Settle"})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t}
	for want, details := range map[string]map[string]*commonpb.Payloads{
		"LocalActivity": {"data": payloads},
		"Version":       {"change-id": payloads, "version": payloads},
	} {
		e := &historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_MARKER_RECORDED,
			Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
				MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{MarkerName: want, Details: details},
			},
		}
		found := w.EventTraces("call", e)
		if want == localActivity {
			want = "Settle"
		}
		if len(found) != 2 || !strings.HasSuffix(found[0].Where, want) {
			t.Errorf("%s is at %v", want, found)
		}
		if markers := w.Markers(&historypb.History{Events: []*historypb.HistoryEvent{e}}); (len(markers) == 1) != (want == "Settle") {
			t.Errorf("%s: %v", want, markers)
		}
	}
}
