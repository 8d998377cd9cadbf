package policies

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"KillSwitchOf":     reflect.TypeFor[KillSwitch](),
		"KillOff":          reflect.TypeFor[KillSwitch](),
		"ListKillSwitches": reflect.TypeFor[KillSwitch](),
		"PolicySource":     reflect.TypeFor[sourceRow](),
		"ActivatePolicy":   reflect.TypeFor[activateRow](),
		"ActivePolicy":     reflect.TypeFor[activeRow](),
		"PolicyHistory":    reflect.TypeFor[ActivationRecord](),
		"PolicyVersions":   reflect.TypeFor[digestRow](),
		"SetShadow":        reflect.TypeFor[shadowRow](),
		"ShadowPolicy":     reflect.TypeFor[activeRow](),
		"ShadowReport":     reflect.TypeFor[shadowedRow](),
	}, "KillOn", "InsertPolicy", "LockActivePolicy", "AnnouncePolicy")
}
