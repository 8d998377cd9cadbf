package app

import "fmt"

// PrintList prints the results of a command: as a JSON list with --json, and otherwise as text. The text is what show
// prints or, if found is empty, the sentence nothing.
func PrintList[T any](a *App, found []T, nothing string, show func([]T)) error {
	switch {
	case a.JSON:
		return PrintJSON(a.Out, NonNil(found))
	case len(found) == 0:
		fmt.Fprintln(a.Out, nothing)
	default:
		show(found)
	}
	return nil
}

// PrintRows is PrintList with a table that has one row for each result.
func PrintRows[T any](a *App, found []T, nothing string, headings []string, row func(T) []string) error {
	return PrintList(a, found, nothing, func(found []T) {
		rows := make([][]string, len(found))
		for i, one := range found {
			rows[i] = row(one)
		}
		PrintTable(a.Out, "", headings, rows)
	})
}

// NonNil returns s, or an empty slice if s is nil, so that JSON has [] and not null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
