package outputs

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"CreateOutput": reflect.TypeFor[createdRow](),
		"AppendChunk":  reflect.TypeFor[doneRow](),
		"FinishOutput": reflect.TypeFor[doneRow](),
		"Describe":     reflect.TypeFor[describeRow](),
		"EachOutput":   reflect.TypeFor[describeRow](),
		"ChunkOfByte":  reflect.TypeFor[placeRow](),
		"ChunkOfLine":  reflect.TypeFor[placeRow](),
		"Chunks":       reflect.TypeFor[chunkRow](),
		"SettledValue": reflect.TypeFor[settledValueRow](),
		"AgentAnswer":  reflect.TypeFor[agentAnswerRow](),
		"OldValue":     reflect.TypeFor[oldValueRow](),
		"DeleteChunks": reflect.TypeFor[deletedRow](),

		"HasLeft":        reflect.TypeFor[remainsRow](),
		"ReserveObjects": reflect.TypeFor[doneRow](),
		"Garbage":        reflect.TypeFor[keyRow](),
		"ForeignObjects": reflect.TypeFor[bucketRow](),
		"Buckets":        reflect.TypeFor[BucketUse](),
	}, "LockCall", "LockOutput", "ReplaceOutput", "ChargeOutput", "Discard", "Expire", "ExpireDue", "DeleteTombstones",
		"ExpireReservations", "ForgetObjects", "PostponeObjects", "ForgetProbe")
}
