package app

import "fmt"

// PrintList prints what a command found: a list for programs; for people what show
// prints of it, or nothing, one sentence, where there is none.
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

// PrintRows is PrintList with a row of a table for each.
func PrintRows[T any](a *App, found []T, nothing string, headings []string, row func(T) []string) error {
	return PrintList(a, found, nothing, func(found []T) {
		rows := make([][]string, len(found))
		for i, one := range found {
			rows[i] = row(one)
		}
		PrintTable(a.Out, "", headings, rows)
	})
}

// NonNil makes no entries an empty list in JSON.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
