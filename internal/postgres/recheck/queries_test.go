package recheck

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, Files, map[string]reflect.Type{
		"Recheck":      reflect.TypeFor[recheckRow](),
		"RecheckAgain": reflect.TypeFor[recheckAgainRow](),
	})
}
