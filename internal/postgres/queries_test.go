package postgres_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
)

// effectOnly are the queries whose rows nobody reads.
var effectOnly = []string{
	"LockInvocation", "EndConnectionGrant", "LockActivePolicy", "SaveOutput", "SetPartitionMonths", "Refuse", "CloseOtherRequests", "CloseRequest", "InsertPolicy", "PublishSpecs",
	"MarkSent", "MarkFailed", "PruneOutbox", "ListenOutbox", "KillOn", "ListenPolicy", "EnsurePartitions",
	"LockQuotas", "LockSemaphores", "RenewLeases", "LockCapacity", "Release", "LockExpired", "DeleteFullQuotas", "DeleteIdleSemaphores", "DeleteOldSessions",
	"DeleteExpiredCalls", "SetExpiredPartition", "DropPartition", "LockFlight", "MarkNoticeSent", "PruneNotices", "RevokeConnection",
	"AskReseal", "Forged",
}

// TestQueries prepares every statement on a migrated schema and compares its columns with the fields they are read into.
func TestQueries(t *testing.T) {
	b := open(t)
	conn, err := b.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	queries, rows := postgres.Queries(t), postgres.RowTypes()
	if len(queries) != len(rows)+len(effectOnly) {
		t.Errorf("%d queries; %d are read and %d are not", len(queries), len(rows), len(effectOnly))
	}
	for name, sql := range queries {
		prepared, err := conn.Conn().Prepare(t.Context(), "test_"+name, sql)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, sql)
			continue
		}
		row, read := rows[name]
		if !read {
			if !slices.Contains(effectOnly, name) {
				t.Errorf("%s is read into nothing", name)
			}
			continue
		}
		var columns []string
		for _, f := range prepared.Fields {
			columns = append(columns, strings.ReplaceAll(f.Name, "_", ""))
		}
		want := fields(row)
		slices.Sort(columns)
		slices.Sort(want)
		if !slices.Equal(columns, want) {
			t.Errorf("%s returns %v, its row has %v", name, columns, want)
		}
	}
}

// fields lists the names of a row's fields as its columns are called, without underscores.
func fields(row reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(row) {
		switch {
		case f.Anonymous:
		case f.Tag.Get("db") != "":
			names = append(names, strings.ReplaceAll(f.Tag.Get("db"), "_", ""))
		default:
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}
