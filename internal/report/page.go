package report

import (
	_ "embed"
	"html/template"
	"time"
)

// page is the data for pageTemplate.
type page struct {
	From, To time.Time
	Step     time.Duration
	Source   string
	Workers  int
	Rules    int
	Alerts   []held
	Rows     []pageRow
}

type pageRow struct {
	Title  string
	Stats  []stat
	Graphs []graph
}

type stat struct {
	Title, Description, Value, Fault string
	Bad                              bool
	Line                             *chart
}

type graph struct {
	Title, Description, Fault string
	Lines                     *chart
	Legend                    []legend
	More                      int
}

type legend struct {
	Color           int
	Name, Last, Max string
}

// Firing counts the alerts that fire at the end of the report.
func (p page) Firing() (n int) {
	for _, a := range p.Alerts {
		if a.State() == "firing" {
			n++
		}
	}
	return n
}

//go:embed page.html
var pageText string

// pageTemplate escapes all that it shows.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"utc": func(t time.Time) string { return t.UTC().Format(timeFormat) },
}).Parse(pageText))
