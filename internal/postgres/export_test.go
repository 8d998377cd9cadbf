package postgres

import "testing"

// Queries returns every statement by name.
func Queries(t testing.TB) map[string]string {
	t.Helper()
	parsed, err := parseQueries(queryFiles)
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for name, q := range parsed {
		queries[name] = q.sql
	}
	return queries
}
