package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// Kinds returns the faults that a run may plan, in the order of reports. The index of a kind
// determines its random stream, so add new kinds at the end.
func Kinds() []oracle.FaultKind {
	return []oracle.FaultKind{
		oracle.Kill, oracle.Term, oracle.Stop, oracle.Postgres, oracle.Temporal, oracle.PostgresFreeze, oracle.TemporalFreeze, oracle.Lock,
		oracle.ResetFirst, oracle.ResetLast, oracle.ResetAny, oracle.Restart, oracle.Terminate, oracle.Delete, oracle.Cancel,
		oracle.Pause, oracle.ActivityReset, oracle.MadeUpOK, oracle.MadeUpUndispatched, oracle.MadeUpNothing, oracle.MadeUpFailure, oracle.Garbage,
	}
}

// ofOneCall reports whether a fault is aimed at one call.
func ofOneCall(kind oracle.FaultKind) bool {
	return kind == oracle.Late || slices.Index(Kinds(), kind) >= slices.Index(Kinds(), oracle.ResetFirst)
}

// ofActivity reports whether a fault is aimed at the running activity of a call.
func ofActivity(kind oracle.FaultKind) bool {
	return slices.Contains([]oracle.FaultKind{
		oracle.Pause, oracle.ActivityReset, oracle.MadeUpOK, oracle.MadeUpUndispatched, oracle.MadeUpNothing, oracle.MadeUpFailure,
	}, kind)
}

// ofReset reports whether a fault resets a workflow. The workflow may be closed.
func ofReset(kind oracle.FaultKind) bool {
	return kind == oracle.ResetFirst || kind == oracle.ResetLast || kind == oracle.ResetAny
}

// ParseKinds parses "all", "none", or names of faults separated by commas.
func ParseKinds(list string) ([]oracle.FaultKind, error) {
	switch list {
	case "all":
		return Kinds(), nil
	case "none":
		return nil, nil
	}
	var kinds []oracle.FaultKind
	for name := range strings.SplitSeq(list, ",") {
		kind := oracle.FaultKind(strings.TrimSpace(name))
		if !slices.Contains(Kinds(), kind) {
			return nil, fmt.Errorf("there is no fault %q: use some of %s, or all, or none", name, KindNames())
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// KindNames returns the names of Kinds, separated by commas.
func KindNames() string {
	names := make([]string, 0, len(Kinds()))
	for _, kind := range Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}
