package postgres_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func (b bench) hydrations(call string) (list []toolspec.Provenance) {
	b.t.Helper()
	d, err := b.Show(b.t.Context(), tenant, call)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range d.Hydrations {
		list = append(list, h.Provenance)
	}
	return list
}

// TestHydrations: an approval request writes the hydrations that the call has so far, and settle writes the others. Each hydration is stored once, also if the
// activity of the request is repeated, or if a later Temporal run repeats the steps of an earlier one.
func TestHydrations(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := requestRow("call_1", 1)
	row.Hydrations = []contract.Hydration{hydration(1, toolspec.HydrationSuccess)}
	b.request(row)
	if got := b.hydrations("call_1"); len(got) != 1 || !reflect.DeepEqual(got[0], row.Hydrations[0].Provenance) {
		t.Fatalf("after the request there is %+v", got)
	}
	b.request(row)
	in := settleIn("call_1", 1)
	in.Hydrations = []contract.Hydration{row.Hydrations[0], hydration(2, toolspec.HydrationValidate)}
	b.settle(in)
	got := b.hydrations("call_1")
	if len(got) != 2 || got[0].Outcome != toolspec.HydrationSuccess || got[1].Outcome != toolspec.HydrationValidate {
		t.Errorf("at the end there is %+v", got)
	}
	if n := value[int](b, `SELECT count(*) FROM hydrations WHERE provider_tool = 'write_file' AND tool_id = 'core__write_file' AND tool_digest = 'tool'`); n != 2 {
		t.Errorf("%d rows name the tool both ways", n)
	}
	// A request with another epoch writes no hydration.
	b.admit("call_2")
	row = requestRow("call_2", 7)
	row.Hydrations = []contract.Hydration{hydration(1, toolspec.HydrationSuccess)}
	if b.request(row); len(b.hydrations("call_2")) != 0 {
		t.Error("a stale run wrote")
	}
}

// TestLargeProvenance: a hydration whose record is too large is stored without its details, and the settle succeeds.
func TestLargeProvenance(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := settleIn("call_1", 1)
	in.Hydrations[0].Provenance.Original = strings.Repeat("a", 9<<10)
	b.settle(in)
	if got := b.hydrations("call_1"); len(got) != 1 || got[0].Original != "" || got[0].OriginalDigest == "" {
		t.Errorf("%+v", got)
	}
}
