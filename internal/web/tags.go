package web

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// formats are the formatting elements of the HTML standard. A parser repeats the open formatting elements
// in each paragraph, so that a small page could become a very large tree.
var formats = []atom.Atom{
	atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U,
}

// rawTexts are elements whose content a tokenizer reads as text and a parser in some places as elements.
var rawTexts = []atom.Atom{
	atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Plaintext, atom.Script, atom.Style, atom.Textarea, atom.Title, atom.Xmp,
}

// prefix stands before the names of formatting elements while the page is parsed, so that the parser reads
// them as ordinary elements, which it does not repeat.
const prefix = "x-"

// plainTags returns HTML of which a parser makes at most one element of a tag. It also leaves out comments
// and the elements whose content the parser does not always read in the same way as the tokenizer: SVG,
// scripts, styles and the like. renameFormats turns the names of formatting elements back.
func plainTags(source []byte) []byte {
	var out bytes.Buffer
	tokens := html.NewTokenizer(bytes.NewReader(source))
	svg, raw, isLink := 0, atom.Atom(0), false
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			return out.Bytes()
		case html.CommentToken:
			continue
		case html.TextToken:
			if svg == 0 && (raw == 0 || raw == atom.Title || raw == atom.Xmp || raw == atom.Plaintext) {
				// If an element is left out, the texts around it must not become a tag together.
				out.WriteString(html.EscapeString(string(tokens.Text())))
			}
			raw = 0
			continue
		case html.DoctypeToken:
			if svg == 0 {
				out.Write(tokens.Raw())
			}
			continue
		default:
		}
		tag := slices.Clone(tokens.Raw()) // TagName changes it
		text, _ := tokens.TagName()
		name := atom.Lookup(text)
		raw = 0
		switch {
		case name == atom.Svg && kind == html.StartTagToken:
			svg++
		case name == atom.Svg && kind == html.EndTagToken:
			svg = max(0, svg-1)
		case svg > 0:
			tokens.NextIsNotRawText() // as a parser reads elements within SVG
		case name == atom.Svg, name == atom.Math:
		case slices.Contains(rawTexts, name):
			if kind != html.EndTagToken {
				raw = name
			}
			if name == atom.Title && kind == html.EndTagToken {
				out.WriteString("</title>")
			} else if name == atom.Title {
				out.WriteString("<title>")
			}
		case (name == atom.Html || name == atom.Body) && kind != html.EndTagToken:
			out.WriteString("<" + name.String() + ">") // without attributes, because a parser compares them with those of all such tags before
		case slices.Contains(formats, name):
			if name == atom.A {
				if kind != html.EndTagToken && isLink {
					out.WriteString("</" + prefix + "a>") // a link ends where another begins
				}
				isLink = kind != html.EndTagToken
			}
			at := bytes.Index(bytes.ToLower(tag), []byte(name.String()))
			out.Write(tag[:at])
			out.WriteString(prefix)
			out.Write(tag[at:])
		default:
			out.Write(tag)
		}
	}
}

// renameFormats turns the names of the formatting elements below a node back. An element within another of
// the same name becomes a span, because a converter does work for each such element. A link without an
// address becomes a span too.
func renameFormats(n *html.Node, within []atom.Atom) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		inside := within
		name, found := strings.CutPrefix(child.Data, prefix)
		format := atom.Lookup([]byte(name))
		if child.Type == html.ElementNode && found && slices.Contains(formats, format) {
			isLink := format == atom.A && slices.ContainsFunc(child.Attr, func(a html.Attribute) bool { return a.Key == "href" })
			if !isLink && (format == atom.A || slices.Contains(within, format)) {
				format = atom.Span
			} else {
				inside = append(slices.Clip(within), format)
			}
			child.Data, child.DataAtom = format.String(), format
		}
		renameFormats(child, inside)
	}
}
