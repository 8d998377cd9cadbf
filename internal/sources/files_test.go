package sources

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

// httpDocument returns a document with one tool of this id.
func httpDocument(id string) string {
	return `
format: 1
name: shop
tools:
  - id: ` + id + `
    description: Reads the shop.
    version: "1"
    effect: read_only
    risk: low
    connection: none
    host: api.example.com
    redaction: {allow: [/name]}
    input: {type: object, properties: {}}
    request: {method: GET, path: /shop}
    response: {type: json}
`
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	// The file is renamed into its place, so that the source never reads a part of it.
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func httpFiles(dir string) *files {
	return &files{source.HTTP, "PAWL_HTTP_TOOLS", dir, time.Millisecond, func(name string) ([]toolspec.Tool, error) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		d, err := httptool.Read(filepath.Base(name), text)
		if err != nil {
			return nil, err
		}
		return d.Bind()
	}}
}

// TestHTTPToolsAreASource: the source of HTTP tools keeps the contract of sources.
func TestHTTPToolsAreASource(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "shop.yaml"), httpDocument("shop__get"))
	sourcetest.Run(t, func(*testing.T) source.Source { return httpFiles(dir) })
}

// TestHTTPToolsFollowFiles: the worker has the tools in the files. A file that is not valid, or files that
// cannot be listed, remove no tool.
func TestHTTPToolsFollowFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tools")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	offers := make(chan source.Offer, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = httpFiles(dir).Run(ctx, func(o source.Offer) { offers <- o })
	}()
	defer func() {
		cancel()
		<-done
	}()
	expect := func(step, ids, fault string) {
		t.Helper()
		limit := time.After(30 * time.Second)
		for {
			select {
			case o := <-offers:
				var have []string
				for _, tool := range o.Tools {
					have = append(have, tool.Definition().ID)
				}
				if strings.Join(have, " ") == ids && (fault == "") == (o.Fault == "") && strings.Contains(o.Fault, fault) {
					return
				}
			case <-limit:
				t.Fatalf("%s: no offer of %q with the fault %q", step, ids, fault)
			}
		}
	}
	expect("an empty directory", "", "")
	writeFile(t, filepath.Join(dir, "a.yaml"), httpDocument("shop__a"))
	expect("a file", "shop__a", "")
	writeFile(t, filepath.Join(dir, "b.yaml"), httpDocument("shop__b"))
	expect("two files", "shop__a shop__b", "")
	writeFile(t, filepath.Join(dir, "b.yaml"), strings.Replace(httpDocument("shop__b"), "risk: low", "risk: tiny", 1))
	expect("a file that is not valid", "shop__a shop__b", "b.yaml: line 9")
	writeFile(t, filepath.Join(dir, "b.yaml"), httpDocument("shop__a")+"# changed")
	expect("an id in two files", "shop__a", "another file has a tool shop__a")
	writeFile(t, filepath.Join(dir, "b.yaml"), httpDocument("shop__bb"))
	expect("valid again", "shop__a shop__bb", "")
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	expect("no directory", "shop__a shop__bb", "no such file")
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	expect("back", "shop__a shop__bb", "")
	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	expect("a file less", "shop__bb", "")
}
