package db

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
)

// query is a statement of a file.
type query struct {
	name string
	sql  string
	// params are the names of $1, $2 …
	params []string
}

// Values are the values of a query's parameters, by name.
type Values map[string]any

// And returns a copy of the values with one more value.
func (v Values) And(name string, value any) Values {
	more := maps.Clone(v)
	more[name] = value
	return more
}

// With returns a copy of the values, with the values of more added.
func (v Values) With(more Values) Values {
	all := maps.Clone(v)
	maps.Copy(all, more)
	return all
}

// bind returns the values in the order of the parameters. A missing or extra value is an error.
func (q query) bind(values Values) ([]any, error) {
	if len(values) != len(q.params) {
		return nil, fmt.Errorf("query %s takes %d parameters, not %d", q.name, len(q.params), len(values))
	}
	args := make([]any, len(q.params))
	for i, name := range q.params {
		value, ok := values[name]
		if !ok {
			return nil, fmt.Errorf("query %s lacks @%s", q.name, name)
		}
		args[i] = value
	}
	return args, nil
}

// parseQueries reads every statement of the .sql files. A statement begins with a line `-- name:
// X` and ends before the next such line or at the end of the file.
func parseQueries(files ...fs.FS) (map[string]query, error) {
	queries := map[string]query{}
	for _, from := range files {
		paths, err := fs.Glob(from, "*.sql")
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := fs.ReadFile(from, path)
			if err != nil {
				return nil, err
			}
			if err := addQueries(queries, path, string(text)); err != nil {
				return nil, err
			}
		}
	}
	return queries, nil
}

// addQueries reads the statements of one file.
func addQueries(queries map[string]query, path, text string) error {
	parts := strings.Split("\n"+text, "\n-- name: ")
	if strings.TrimSpace(parts[0]) != "" {
		return fmt.Errorf("%s: a statement has no name", path)
	}
	for _, part := range parts[1:] {
		name, body, _ := strings.Cut(part, "\n")
		name = strings.TrimSpace(name)
		if _, twice := queries[name]; twice {
			return fmt.Errorf("%s: a second query %s", path, name)
		}
		queries[name] = newQuery(name, body)
	}
	return nil
}

// Statements returns the SQL of every statement of files, by name.
func Statements(files ...fs.FS) (map[string]string, error) {
	parsed, err := parseQueries(files...)
	statements := map[string]string{}
	for name, q := range parsed {
		statements[name] = q.sql
	}
	return statements, err
}

// newQuery removes the comments and numbers the parameters: @id becomes $1 everywhere. An at
// sign has no other meaning in the statements.
func newQuery(name, body string) query {
	q := query{name: name}
	var sql strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			sql.WriteString(line)
		}
	}
	numbers := map[string]int{}
	q.sql = regexp.MustCompile(`@[a-z_]+`).ReplaceAllStringFunc(sql.String(), func(match string) string {
		param := match[1:]
		if numbers[param] == 0 {
			q.params = append(q.params, param)
			numbers[param] = len(q.params)
		}
		return fmt.Sprintf("$%d", numbers[param])
	})
	q.sql = strings.TrimSuffix(strings.TrimSpace(q.sql), ";")
	return q
}
