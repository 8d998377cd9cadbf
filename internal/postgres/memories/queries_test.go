package memories

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

// TestQueries: every statement of this package is valid, and its columns are the fields of its row type. The names after the map are the
// statements that return no rows.
func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"Locked":         reflect.TypeFor[lockedRow](),
		"Put":            reflect.TypeFor[timesRow](),
		"CountTenant":    reflect.TypeFor[countRow](),
		"DeleteExpired":  reflect.TypeFor[countRow](),
		"DeleteSession":  reflect.TypeFor[usageRow](),
		"ForgetSessions": reflect.TypeFor[countRow](),
		"Entry":          reflect.TypeFor[entryRow](),
		"ActiveGoal":     reflect.TypeFor[pathRow](),
		"List":           reflect.TypeFor[entryRow](),
		"ListTenant":     reflect.TypeFor[entryRow](),
		"Search":         reflect.TypeFor[hitRow](),
		"SearchTenant":   reflect.TypeFor[hitRow](),
		"Reasoning":      reflect.TypeFor[entryRow](),
	}, "BoundWaits", "LockSession", "Deactivate", "Delete", "SaveAnswer", "CountSession", "RecordDeletion", "RecordSessionDeletion", "ForgetWrites")
}
