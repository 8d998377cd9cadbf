package httptool_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// TestPage: a worker takes the documents of docs/http-tools.md.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/http-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	provided, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(broker.Outside{}), capability.PublicHTTPKey.Provide(nil))
	if err != nil {
		t.Fatal(err)
	}
	documents := 0
	for i, block := range strings.Split(string(page), "```") {
		source, ok := strings.CutPrefix(block, "yaml http-tools\n")
		if i%2 == 0 || !ok {
			continue
		}
		documents++
		d, err := httptool.Read("http-tools.md", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		tools, err := d.Bind()
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			if _, err := catalog.Bind(tool, provided); err != nil {
				t.Error(err)
			}
		}
	}
	if documents == 0 {
		t.Error("the page has no document")
	}
}
