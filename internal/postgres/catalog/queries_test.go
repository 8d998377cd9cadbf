package catalog

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"PermittedTools": reflect.TypeFor[toolsRow](),
		"Specs":          reflect.TypeFor[specRow](),
		"LiveSpecs":      reflect.TypeFor[specRow](),
		"DiscoveredSpec": reflect.TypeFor[specRow](),
		"IsLive":         reflect.TypeFor[liveRow](),
		"WorkerSources":  reflect.TypeFor[sourcesRow](),
		"ToolConflicts":  reflect.TypeFor[conflictRow](),
		"PoolsOf":        reflect.TypeFor[poolRow](),
		"ToolPools":      reflect.TypeFor[toolPoolsRow](),
		"HasShared":      reflect.TypeFor[liveRow](),
		"Pools":          reflect.TypeFor[poolsRow](),
	}, "LockSpecs", "PublishSpecs", "AddWorker", "DropWorkerTools", "SetWorkerTools", "RenewWorker", "DeleteOldWorkers", "DeleteOldSpecs", "AddPool", "DeleteOldPools")
}
