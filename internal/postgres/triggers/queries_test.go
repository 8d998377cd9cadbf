package triggers

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"ApplyTrigger":    reflect.TypeFor[applyRow](),
		"ActivateTrigger": reflect.TypeFor[Changed](),
		"RetireTrigger":   reflect.TypeFor[Changed](),
		"TriggerDocument": reflect.TypeFor[documentRow](),
		"Triggers":        reflect.TypeFor[Listed](),
		"HasStarted":      reflect.TypeFor[startedRow](),
		"TriggerEvents":   reflect.TypeFor[Happened](),

		"TriggerChannels":    reflect.TypeFor[channelRow](),
		"TriggersOfChannel":  reflect.TypeFor[documentOnlyRow](),
		"FileTriggers":       reflect.TypeFor[documentOnlyRow](),
		"QueueTriggerEvents": reflect.TypeFor[queuedRow](),
	}, "LockTrigger", "RecordTriggerEvent")
}
