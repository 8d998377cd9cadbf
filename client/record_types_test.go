package client_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client"
)

var update = flag.Bool("update", false, "write golden files")

// TestRecordJSON: the names and the order of the fields are a contract with scripts, which read what --json prints.
func TestRecordJSON(t *testing.T) {
	t.Parallel()
	var d client.CallRecord
	n := 0
	fill(reflect.ValueOf(&d).Elem(), &n)
	for name, v := range map[string]any{
		"show": d, "show.empty": client.CallRecord{}, "call": d.CallSummary, "approval": d.Approvals[0],
		"approval.empty": client.ApprovalRecord{},
	} {
		out, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(golden, append(out, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out) + "\n"; got != string(want) {
			t.Errorf("%s differs from %s:\n%s", name, golden, got)
		}
	}
}

// fill gives every field a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.UnixMilli(1_700_000_000_000 + int64(*n)).UTC()
		return
	case *json.RawMessage:
		*x = json.RawMessage(fmt.Sprintf(`{"n":%d}`, *n))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	default:
		panic(v.Type().String())
	}
}
