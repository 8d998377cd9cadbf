package registrations

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"RegisterTools":         reflect.TypeFor[registerRow](),
		"UnregisterTools":       reflect.TypeFor[unregisterRow](),
		"ToolRegistrations":     reflect.TypeFor[Version](),
		"ToolDocument":          reflect.TypeFor[documentRow](),
		"RegistrationsInUse":    reflect.TypeFor[InUse](),
		"RegistrationDocuments": reflect.TypeFor[textRow](),
	}, "LockRegistrations", "AnnounceTools")
}
