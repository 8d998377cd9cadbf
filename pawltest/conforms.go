package pawltest

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Conforms checks the contracts of tools without running them. A worker can bind each of them, it has a
// version, a title, a description and an example, and its schema accepts the arguments of all examples.
func Conforms(t testing.TB, tools ...toolspec.Tool) {
	t.Helper()
	registry, err := catalog.Describe("test", tools...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		d := tool.Definition()
		if d.Version == "" || d.Title == "" || d.Title == d.ID || d.Description == "" {
			t.Errorf("%s: the version is %q, the title %q, the description %q: a model and the people who approve read them", d.ID, d.Version, d.Title, d.Description)
		}
		if len(d.Examples) == 0 {
			t.Errorf("%s: there is no example", d.ID)
		}
		bound, _ := registry.Get(d.ID)
		for _, e := range d.Examples {
			if problems := bound.ValidateInput(json.RawMessage(e.Args)); e.Title == "" || problems != nil {
				t.Errorf("%s: the example %q has the arguments %s: %v", d.ID, e.Title, e.Args, problems)
			}
		}
	}
}
