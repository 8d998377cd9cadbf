package historytest

import "testing"

// TestMarkersOfTheSDK: ActivityOf and AttemptOf can read every marker of a local activity in the recorded histories.
func TestMarkersOfTheSDK(t *testing.T) {
	all, err := Load("../testdata/history")
	if err != nil {
		t.Fatal(err)
	}
	markers := 0
	for _, r := range all {
		for _, e := range r.History.GetEvents() {
			if e.GetMarkerRecordedEventAttributes().GetMarkerName() != LocalMarker {
				continue
			}
			if markers++; ActivityOf(e) == "" || AttemptOf(e) < 1 {
				t.Errorf("%s: event %d is activity %q in attempt %d", r.Name(), e.GetEventId(), ActivityOf(e), AttemptOf(e))
			}
		}
	}
	if markers == 0 {
		t.Error("no markers")
	}
}
