package remotetool_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestPage: a worker takes the documents of docs/remote-tools.md and of the example.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/remote-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/remotetools/tools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml remote-tools\n")
	if !found {
		t.Fatal("the page has no document")
	}
	text, _, _ = strings.Cut(text, "```")
	for _, doc := range []string{text, string(example)} {
		for _, tool := range bind(t, doc) {
			caps, err := toolspec.NewCapabilities()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := catalog.Bind(tool, caps); err != nil {
				t.Error(err)
			}
		}
	}
}
