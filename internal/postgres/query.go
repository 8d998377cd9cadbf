package postgres

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// query is a statement of queries/*.sql.
type query struct {
	name string
	sql  string
	// params names what stands for $1, $2 …
	params []string
}

// named are the values of a query's parameters.
type named map[string]any

// and is the values with one more.
func (n named) and(name string, value any) named {
	more := maps.Clone(n)
	more[name] = value
	return more
}

// with is the values with those of more.
func (n named) with(more named) named {
	all := maps.Clone(n)
	maps.Copy(all, more)
	return all
}

// bind puts the values in the order of the parameters. One too few or too many is a mistake of this package.
func (q query) bind(values named) ([]any, error) {
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

// parseQueries reads every statement of the files: each begins with a line `-- name: X` and lasts until the next or the end.
func parseQueries(files fs.FS) (map[string]query, error) {
	queries := map[string]query{}
	paths, err := fs.Glob(files, "queries/*.sql")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		parts := strings.Split("\n"+string(text), "\n-- name: ")
		if strings.TrimSpace(parts[0]) != "" {
			return nil, fmt.Errorf("%s: a statement has no name", path)
		}
		for _, part := range parts[1:] {
			name, body, _ := strings.Cut(part, "\n")
			name = strings.TrimSpace(name)
			if _, twice := queries[name]; twice {
				return nil, fmt.Errorf("%s: a second query %s", path, name)
			}
			queries[name] = newQuery(name, body)
		}
	}
	return queries, nil
}

// newQuery drops the comments and numbers the parameters: @id becomes $1 wherever it stands. No statement has an at sign of another
// meaning.
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
