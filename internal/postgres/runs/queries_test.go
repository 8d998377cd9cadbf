package runs

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"Watch":          reflect.TypeFor[keyRow](),
		"RunKey":         reflect.TypeFor[keyRow](),
		"Events":         reflect.TypeFor[eventRow](),
		"Append":         reflect.TypeFor[turnRow](),
		"ReportProgress": reflect.TypeFor[seqRow](),
		"Run":            reflect.TypeFor[runRow](),
	}, "ListenRuns", "LockRun", "LockRunOf")
}
