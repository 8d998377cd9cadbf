package record

import (
	"encoding/json"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// killsOf decodes the kill switches that apply to a call.
func killsOf(op string, raw json.RawMessage) ([]hook.Kill, error) {
	if raw == nil {
		return nil, nil
	}
	kills, err := db.Decoded[[]hook.Kill](raw)
	return kills, db.Failure(op, err)
}

// connectionOf decodes the state of the call's connection. It returns nil if the call has none.
func connectionOf(op string, raw json.RawMessage) (*hook.Connection, error) {
	if raw == nil {
		return nil, nil
	}
	n, err := db.Decoded[hook.Connection](raw)
	if err != nil {
		return nil, db.Failure(op, err)
	}
	return &n, nil
}
