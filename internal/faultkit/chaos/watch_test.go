package chaos

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// TestStalls: stalls that follow each other count as one, and a stall during a planned outage does
// not count.
func TestStalls(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 11, 21, 12, 0, seconds, 0, time.UTC) }
	r := &faultLog{faults: []oracle.Fault{{Kind: oracle.Temporal, From: at(1), To: at(5)}, {Kind: oracle.Postgres, From: at(0), To: at(59)}}}
	r.noteStall(at(4), at(7)) // it began while the server was away
	r.noteStall(at(10), at(13))
	r.noteStall(at(14), at(18))
	r.noteStall(at(30), at(33))
	r.away(1)
	r.noteStall(at(40), at(44))
	r.away(-1)
	var stalls []oracle.Fault
	for _, f := range r.faults {
		if f.Kind == oracle.Stall {
			stalls = append(stalls, f)
		}
	}
	if len(stalls) != 2 || stalls[0].From != at(10) || stalls[0].To != at(18) || stalls[1].From != at(30) || stalls[1].To != at(33) {
		t.Errorf("%v", stalls)
	}
}
