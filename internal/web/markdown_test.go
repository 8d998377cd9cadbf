package web

import (
	"bytes"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestJoinedTexts: where elements were removed, no texts stand side by side, and the page reads as before.
func TestJoinedTexts(t *testing.T) {
	const part = "a <input>"
	for _, n := range []int{1, 2, 3, 30_000} {
		source := "<p>" + strings.Repeat(part, n) + "<b>bold</b>" + strings.Repeat(part, n) + "</p><!-- x -->end"
		doc, err := html.Parse(bytes.NewReader(plainTags([]byte(source))))
		if err != nil {
			t.Fatal(err)
		}
		renameFormats(doc, nil)
		clean(doc)
		joinTexts(doc)
		texts := 0
		for d := range doc.Descendants() {
			if d.Type != html.TextNode {
				continue
			}
			texts++
			if next := d.NextSibling; next != nil && next.Type == html.TextNode {
				t.Fatalf("%d parts: two texts stand side by side", n)
			}
		}
		if texts != 4 {
			t.Errorf("%d parts: %d texts", n, texts)
		}
		page, err := markdown(capability.WebPage{Text: source}, &url.URL{Scheme: "http", Host: "public.test"}, capability.WebWholePage)
		if want := strings.Repeat("a ", n) + "**bold**" + strings.Repeat("a ", n) + "\n\nend"; err != nil || !strings.EqualFold(strings.Join(strings.Fields(page.Text), ""), strings.Join(strings.Fields(want), "")) {
			t.Errorf("%d parts: %.100q, %v", n, page.Text, err)
		}
	}
}

// TestTextsTakeLinearMemory: twice as many texts side by side take twice as much memory, and not four times.
func TestTextsTakeLinearMemory(t *testing.T) {
	for name, part := range map[string]string{
		"removed by Pawl":            "a text of some length <input>",
		"removed by the readability": `a text of some length, <span class="comment sidebar"></span>`,
	} {
		for _, form := range []capability.WebForm{capability.WebWholePage, capability.WebMarkdown} {
			allocated := func(n int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				page, err := markdown(capability.WebPage{Text: "<article><p>" + strings.Repeat(part, n) + "</p></article>"}, &url.URL{Scheme: "http", Host: "public.test"}, form)
				runtime.ReadMemStats(&after)
				if err != nil || len(page.Text) < 20*n {
					t.Fatalf("%s as %s: %d bytes, %v", name, form, len(page.Text), err)
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			once, twice := allocated(10_000), allocated(20_000)
			if twice > 3*once {
				t.Errorf("%s as %s: %d bytes, and %d for twice as many texts", name, form, once, twice)
			}
			t.Log(name, form, once, twice)
		}
	}
}
