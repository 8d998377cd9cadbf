package web

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of HTML. The parser itself refuses more than 512 elements within each other.
const (
	// maxHTML is in bytes; the rest is left out.
	maxHTML = 3 << 20
	// maxTags bounds the elements.
	maxTags = 100_000
	// maxFormats bounds the formatting elements that are open at the same time. A parser repeats the open
	// formatting elements in each paragraph, so that a small page could become very large.
	maxFormats = 8
	// minMain is the least share of the text of a page, as one in so many, that counts as its main content.
	minMain = 10
)

var errComplex = fault(capability.WebContent, "the HTML of the page is too complex: fetch it with the format source")

// markdown makes Markdown of the HTML in page.Text.
func markdown(page capability.WebPage, address *url.URL, form capability.WebForm) (capability.WebPage, error) {
	source := page.Text
	if len(source) > maxHTML {
		source, page.Truncated = source[:maxHTML], true
	}
	if strings.Count(source, "<") > maxTags {
		return page, errComplex
	}
	doc, err := html.Parse(bytes.NewReader(withoutFormats([]byte(source))))
	if err != nil {
		return page, errComplex
	}
	page.Title = oneLine(titleOf(doc), 300)
	clean(doc)
	whole := length(doc)
	content := doc
	if form != capability.WebWholePage {
		parser := readability.NewParser()
		parser.DisableJSONLD = true
		// ParseDocument works on a copy.
		if article, err := parser.ParseDocument(doc, address); err == nil && article.Node != nil && length(article.Node)*minMain >= whole {
			content = article.Node
			if page.Title == "" {
				page.Title = oneLine(article.Title(), 300)
			}
		}
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := conv.ConvertNode(content, converter.WithDomain(address.Scheme+"://"+address.Host))
	if err != nil {
		return page, errComplex
	}
	page.Text = strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd"))
	cutText(&page)
	return page, nil
}

// formats are the formatting elements of the HTML standard.
var formats = []atom.Atom{
	atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U,
}

// withoutFormats leaves out the start tags of formatting elements while maxFormats of them are open.
func withoutFormats(source []byte) []byte {
	var out bytes.Buffer
	open := 0
	for tokens := html.NewTokenizer(bytes.NewReader(source)); ; {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			return out.Bytes()
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			raw := slices.Clone(tokens.Raw()) // TagName changes it
			name, _ := tokens.TagName()
			if !slices.Contains(formats, atom.Lookup(name)) {
				out.Write(raw)
				continue
			}
			if kind == html.EndTagToken {
				open = max(0, open-1)
			} else if open++; open > maxFormats {
				continue
			}
			out.Write(raw)
		default:
			out.Write(tokens.Raw())
		}
	}
}

// unread are the elements that no reader of the page sees.
var unread = []atom.Atom{
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas, atom.Audio, atom.Video,
	atom.Form, atom.Button, atom.Input, atom.Select, atom.Textarea,
}

// clean removes elements and comments that a reader of the page does not see, data in URLs, and spans of
// cells, which could make a table very large.
func clean(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode || child.Type == html.ElementNode && (slices.Contains(unread, child.DataAtom) || hidden(child)) {
			n.RemoveChild(child)
		} else {
			child.Attr = slices.DeleteFunc(child.Attr, func(a html.Attribute) bool {
				return a.Key == "colspan" || a.Key == "rowspan" || (a.Key == "src" || a.Key == "href" || a.Key == "srcset") && dataURL(a.Val)
			})
			clean(child)
		}
		child = next
	}
}

// hidden reports whether an element says that it is not shown.
func hidden(n *html.Node) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
		style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
		return a.Key == "hidden" || a.Key == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden"))
	})
}

func dataURL(address string) bool {
	scheme, _, found := strings.Cut(strings.ToLower(strings.TrimSpace(address)), ":")
	return found && (scheme == "data" || scheme == "javascript" || scheme == "blob")
}

// titleOf returns the text of the element title.
func titleOf(n *html.Node) string {
	for d := range n.Descendants() {
		if d.DataAtom == atom.Title && d.FirstChild != nil && d.Namespace == "" {
			return d.FirstChild.Data
		}
	}
	return ""
}

// length returns the size of the texts below a node.
func length(n *html.Node) (size int) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			size += len(strings.TrimSpace(d.Data))
		}
	}
	return size
}
