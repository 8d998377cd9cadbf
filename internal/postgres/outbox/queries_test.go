package outbox

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"HappenNotices":     reflect.TypeFor[lookedRow](),
		"SpreadNotices":     reflect.TypeFor[lookedRow](),
		"TakeNotices":       reflect.TypeFor[noticeRow](),
		"MarkNoticeFailed":  reflect.TypeFor[givenUpRow](),
		"TakeMessages":      reflect.TypeFor[Message](),
		"TakeTriggerEvents": reflect.TypeFor[TriggerEvent](),
	}, "MarkNoticeSent", "PruneNotices", "MarkSent", "MarkFailed", "PruneOutbox", "ListenOutbox", "ListenPolicy", "ListenTools", "LockTriggerQueue", "DropTriggerEvent", "DelayTriggerEvent", "PruneTriggerEvents")
}
