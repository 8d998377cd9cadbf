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
	// maxCells bounds the cells of the tables of a page. The converter fills each row up to the widest.
	maxCells = 20_000
	// maxNested bounds quotes and lists within each other, counted in elements: a list has two. maxIndented
	// bounds the sum of what each of them adds to the texts within it, in bytes.
	maxNested   = 24
	maxIndented = 16 << 20
	// minMain is the least share of the text of a page that counts as its main content: one part in minMain.
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
	doc, err := html.Parse(bytes.NewReader(plainTags([]byte(source))))
	if err != nil {
		return page, errComplex
	}
	renameFormats(doc, nil)
	page.Title = oneLine(titleOf(doc), 300)
	clean(doc)
	joinTexts(doc)
	if indent(doc, 0) > maxIndented {
		return page, errComplex
	}
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
	joinTexts(content) // the reader has also removed elements from the content
	plugins := []converter.Plugin{base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()}
	if cells(content) <= maxCells {
		// Without minimal padding each cell would get the width of the widest.
		plugins = append(plugins, table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)))
	}
	conv := converter.NewConverter(converter.WithPlugins(plugins...))
	text, err := conv.ConvertNode(content, converter.WithDomain(address.Scheme+"://"+address.Host))
	if err != nil {
		return page, errComplex
	}
	page.Text = strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd"))
	cutText(&page)
	return page, nil
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

// joinTexts makes one text of the texts below a node that stand side by side, as they do where elements were
// removed. The converter would join them one by one, and copy the first of them each time.
func joinTexts(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type != html.TextNode {
			joinTexts(child)
			continue
		}
		var text strings.Builder
		text.WriteString(child.Data)
		for next := child.NextSibling; next != nil && next.Type == html.TextNode; next = child.NextSibling {
			text.WriteString(next.Data)
			n.RemoveChild(next)
		}
		child.Data = text.String()
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

// indent returns the size of the texts below a node. A text counts once for each quote and list around it.
// The result is more than maxIndented if more than maxNested quotes and lists are within each other.
func indent(n *html.Node, depth int) (size int) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		below := depth
		switch child.DataAtom {
		case atom.Blockquote, atom.Ul, atom.Ol, atom.Li:
			if below++; below > maxNested {
				return maxIndented + 1
			}
		default:
		}
		size += depth * (len(child.Data) + 2)
		if size += indent(child, below); size > maxIndented {
			return size
		}
	}
	return size
}

// cells returns the number of cells of the tables below a node, after all rows of a table are as long as its
// longest.
func cells(n *html.Node) (sum int) {
	for t := range n.Descendants() {
		if t.DataAtom != atom.Table {
			continue
		}
		rows, widest := 0, 0
		for row := range t.Descendants() {
			if row.DataAtom != atom.Tr {
				continue
			}
			width := 0
			for cell := range row.ChildNodes() {
				if cell.Type == html.ElementNode {
					width++
				}
			}
			rows, widest = rows+1, max(widest, width)
		}
		if sum += rows * widest; sum > maxCells {
			return sum
		}
	}
	return sum
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
