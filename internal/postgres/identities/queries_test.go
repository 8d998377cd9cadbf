package identities

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"RegisterKey":      reflect.TypeFor[registerRow](),
		"RevokeKey":        reflect.TypeFor[revokeRow](),
		"ListKeys":         reflect.TypeFor[KeyRecord](),
		"CheckRelations":   reflect.TypeFor[checkedRow](),
		"HeldRoles":        reflect.TypeFor[roleRow](),
		"AddRelation":      reflect.TypeFor[addedRow](),
		"RemoveRelation":   reflect.TypeFor[removedRow](),
		"ListRelations":    reflect.TypeFor[relationRow](),
		"SubmitterKey":     reflect.TypeFor[submitterKeyRow](),
		"SubmitterKeyNow":  reflect.TypeFor[submitterKeyRow](),
		"SubmitterTrusted": reflect.TypeFor[trustedRow](),
		"AddSubmitter":     reflect.TypeFor[submitterAddedRow](),
		"RevokeSubmitter":  reflect.TypeFor[removedRow](),
		"ListSubmitters":   reflect.TypeFor[Submitter](),
		"WorkerKeys":       reflect.TypeFor[workerKeyRow](),
	})
}
