package db

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestParametersAreNumberedOnce(t *testing.T) {
	queries, err := parseQueries(fstest.MapFS{"a.sql": {Data: []byte("-- name: A\n-- why @this\nSELECT @b, @a::int\n  , @b;\n\n-- name: B\nSELECT 1;\n")}})
	if err != nil {
		t.Fatal(err)
	}
	a := queries["A"]
	if want := "SELECT $1, $2::int\n  , $1"; a.sql != want || !slices.Equal(a.params, []string{"b", "a"}) {
		t.Errorf("%q with %v, want %q", a.sql, a.params, want)
	}
	if args, err := a.bind(Values{"a": 1, "b": 2}); err != nil || !slices.Equal(args, []any{2, 1}) {
		t.Errorf("%v, %v", args, err)
	}
	for _, wrong := range []Values{{"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}} {
		if _, err := a.bind(wrong); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}

func TestFaultyFilesAreRefused(t *testing.T) {
	for name, data := range map[string]string{"nameless": "SELECT 1;\n", "twice": "-- name: A\nSELECT 1;\n-- name: A\nSELECT 2;\n"} {
		if _, err := parseQueries(fstest.MapFS{"a.sql": {Data: []byte(data)}}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
