package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rows are the rows of a database.
type Rows interface {
	// EachRow visits every row of every table: its table, the columns of the
	// table's primary key, and the row as a JSON object. Bytes are in hexadecimal.
	// row is valid until visit returns; an error of visit ends it.
	EachRow(ctx context.Context, visit func(table string, key []string, row []byte) error) error
}

// maxKey bounds the text of a primary key in a finding, in bytes.
const maxKey = 200

// Tables reads every column of every row.
func (v *Verifier) Tables(ctx context.Context, rows Rows) error {
	var last string
	return rows.EachRow(ctx, func(table string, key []string, row []byte) error {
		v.count(func(r *Report) {
			if r.Rows++; table != last {
				r.Tables++
			}
		})
		last = table
		var columns map[string]json.RawMessage
		if err := json.Unmarshal(row, &columns); err != nil {
			return fmt.Errorf("read a row of %s: it is no JSON object", table)
		}
		at := Place{Table: table, Key: keyOf(key, columns)}
		var found []string
		for _, column := range slices.Sorted(maps.Keys(columns)) {
			if at.Column = column; holdsText(columns[column]) {
				found = append(found, v.search(at, columns[column])...)
			}
		}
		at.Column = "several"
		v.search(at, row, found...)
		return nil
	})
}

// holdsText says that a value is more than a number or a flag.
func holdsText(value json.RawMessage) bool {
	return len(value) > 0 && strings.ContainsRune(`{["`, rune(value[0]))
}

func keyOf(key []string, columns map[string]json.RawMessage) string {
	parts := make([]string, len(key))
	for i, name := range key {
		parts[i] = name + "=" + strings.Trim(string(columns[name]), `"`)
	}
	return strings.Join(parts, " ")
}
