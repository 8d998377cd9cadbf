package pawltest_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestConforms: each fault of a contract fails the test, and the message names it.
func TestConforms(t *testing.T) {
	t.Parallel()
	good := func(d *toolspec.Definition) {
		d.Title = "A tool"
		d.Examples = []toolspec.Example{{Title: "a text", Args: `{"text":"x"}`}}
	}
	for want, change := range map[string]func(*toolspec.Definition){
		"":                                   func(*toolspec.Definition) {},
		"risk is missing":                    func(d *toolspec.Definition) { d.Risk = "" },
		`the version is ""`:                  func(d *toolspec.Definition) { d.Version = "" },
		`the title "test__tool"`:             func(d *toolspec.Definition) { d.Title = "" },
		"there is no example":                func(d *toolspec.Definition) { d.Examples = nil },
		`the example "a text" has the argum`: func(d *toolspec.Definition) { d.Examples[0].Args = `{"more":1}` },
		`the example "" has the arguments`:   func(d *toolspec.Definition) { d.Examples[0].Title = "" },
	} {
		got := why(t, func(t testing.TB) { pawltest.Conforms(t, tool(echo, good, change)) })
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
