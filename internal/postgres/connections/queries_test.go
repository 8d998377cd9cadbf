package connections

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"AddConnection":          reflect.TypeFor[changedRow](),
		"ListConnections":        reflect.TypeFor[connectionRow](),
		"ListConnectionGrants":   reflect.TypeFor[GrantRecord](),
		"GrantConnection":        reflect.TypeFor[grantedRow](),
		"RevokeConnectionGrant":  reflect.TypeFor[changedRow](),
		"TakeSecret":             reflect.TypeFor[takenRow](),
		"ConnectionSecret":       reflect.TypeFor[secretRow](),
		"ReplaceSecret":          reflect.TypeFor[changedRow](),
		"LeaseConnectionToAgent": reflect.TypeFor[leasedRow](),
		"LeaseConnection":        reflect.TypeFor[leasedRow](),
		"SealedSecrets":          reflect.TypeFor[sealedRow](),
		"BeginRefresh":           reflect.TypeFor[refreshRow](),
		"FailRefresh":            reflect.TypeFor[changedRow](),
		"SecretsByKey":           reflect.TypeFor[KeyUse](),
		"SecretsToReseal":        reflect.TypeFor[sealedRow](),
		"ResealSecrets":          reflect.TypeFor[resealedRow](),
	}, "EndConnectionGrant", "RevokeConnection", "AskReseal")
}
