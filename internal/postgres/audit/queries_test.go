package audit

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

// TestQueries: each statement can be prepared, and its columns are the fields of its row. AddSeals and AddHeads return no rows.
func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"BeginSealing":       reflect.TypeFor[beginRow](),
		"TakePending":        reflect.TypeFor[eventRow](),
		"LastHeads":          reflect.TypeFor[headRow](),
		"AuditedTenants":     reflect.TypeFor[tenantRow](),
		"ChainBounds":        reflect.TypeFor[boundsRow](),
		"Seals":              reflect.TypeFor[sealRow](),
		"Heads":              reflect.TypeFor[headRow](),
		"Unsealed":           reflect.TypeFor[unsealedRow](),
		"DeleteExpiredSeals": reflect.TypeFor[deletedRow](),
		"SettledCalls":       reflect.TypeFor[Call](),
	}, "AddSeals", "AddHeads")
}
