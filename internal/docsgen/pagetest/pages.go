package pagetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Page is a page of the documentation.
type Page struct {
	// Path is its path below the root of the repository, with slashes.
	Path string
	Text string
}

// Handbook returns the pages that people read, by their paths below root, the root
// of the repository: all but the records of decisions, which are not changed
// afterwards.
func Handbook(t testing.TB, root string) []Page {
	t.Helper()
	return read(t, root, "README.md", "AGENTS.md", "docs/*.md", "docs/internals/*.md")
}

// Decisions returns the records of decisions.
func Decisions(t testing.TB, root string) []Page {
	t.Helper()
	return read(t, root, "docs/adr/*.md")
}

func read(t testing.TB, root string, patterns ...string) (pages []Page) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no pages %s: %v", pattern, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			page, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, Page{filepath.ToSlash(page), string(text)})
		}
	}
	return pages
}

// Blocks returns the blocks of the page.
func (p Page) Blocks(t testing.TB) []Block {
	t.Helper()
	blocks, err := Blocks(p.Path, p.Text)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}
