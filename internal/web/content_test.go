package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// png is the smallest PNG.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// TestContent: what is readable becomes text, and all else ends with a fault that names why.
func TestContent(t *testing.T) {
	type content struct {
		mediaType, body string
		fault           capability.WebFault
		text            string // is in the text of the page
		cut             bool
	}
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	for range 64 { // 64 MiB of spaces
		_, _ = packed.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = packed.Close()
	pages := map[string]content{
		"html":            {"text/html; charset=utf-8", article, "", "## Part\n\nThe *fox*", false},
		"table":           {"text/html", "<table><tr><th>a<th>b<tr><td>1<td colspan=999999999>2</table>", "", "| 1 | 2 |", false},
		"text":            {"text/plain", "grüße\n<b>", "", "grüße\n<b>", false},
		"no type":         {"", "hello", "", "hello", false},
		"json":            {"application/json", `{"a":"ü"}`, "", `{"a":"ü"}`, false},
		"problem json":    {"application/problem+json; charset=utf-8", `{"a":1}`, "", `{"a":1}`, false},
		"latin-1":         {"text/html; charset=iso-8859-1", "<p>gr\xfc\xdfe", "", "grüße", false},
		"latin-1 meta":    {"text/html", "<meta charset=iso-8859-1><p>gr\xfc\xdfe", "", "grüße", false},
		"utf-16":          {"text/plain; charset=utf-16le", "h\x00i\x00", "", "hi", false},
		"shift-jis":       {"text/plain; charset=shift_jis", "\x93\xfa\x96\x7b", "", "日本", false},
		"unknown charset": {"text/html; charset=klingon", "<p>hello", capability.WebContent, "", false},
		"utf-7":           {"text/html; charset=utf-7", "+ADw-script+AD4-", capability.WebContent, "", false},
		"wrong charset":   {"text/html; charset=utf-8", strings.Repeat("\xe9\xfe\xff", 100), capability.WebContent, "", false},
		"one bad byte":    {"text/plain; charset=utf-8", strings.Repeat("x", 100) + "\xff", "", "\ufffd", false},
		"binary as text":  {"text/plain", "ELF\x00\x01\x02", capability.WebType, "", false},
		"binary as html":  {"text/html", "\x7fELF\x00\x00\x00", capability.WebType, "", false},
		"html as image":   {"image/png", "<html><script>alert(1)</script>", capability.WebType, "", false},
		"text as pdf":     {"application/pdf", "hello", capability.WebType, "", false},
		"zip":             {"application/zip", "PK\x03\x04", capability.WebType, "", false},
		"unknown binary":  {"application/octet-stream", "\x00\x01\x02\x03", capability.WebType, "", false},
		"bad type":        {"text", "hello", "", "hello", false},
		"large image":     {"image/png", png + strings.Repeat("x", capability.MaxWebImage), capability.WebTooLarge, "", false},
		"large pdf":       {"application/pdf", "%PDF-1.7\n" + strings.Repeat("x", maxBody), capability.WebTooLarge, "", false},
		"large text":      {"text/plain", strings.Repeat("ü", capability.MaxWebText), "", "üüü", true},
		"larger text":     {"text/plain", strings.Repeat("ü", maxBody), "", "üüü", true},
		"large html":      {"text/html", strings.Repeat("<p>hello there", maxHTML/20), capability.WebContent, "", false},
		"damaged pdf":     {"application/pdf", "%PDF-1.7\n1 0 obj\n<< /Length 99999999 >>", capability.WebContent, "", false},
		"nested":          {"text/html", strings.Repeat("<div>", 99_000), capability.WebContent, "", false},
		"many tags":       {"text/html", strings.Repeat("<div>", 100_001), capability.WebContent, "", false},
		"spans":           {"text/html", "<table>" + strings.Repeat("<tr><td rowspan=65534 colspan=1000>x", 1000) + "</table>", "", "x", false},
		"formats":         {"text/html", formatBomb(), "", "x", false},
		"attributes":      {"text/html", "<p " + strings.Repeat("a ", 1<<20) + ">hello", "", "hello", false},
		"entities":        {"text/xml", `<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY d "&b;&b;">]><a>&d;</a>`, "", "&d;", false},
		"svg":             {"image/svg+xml", "<svg onload=alert(1)>", "", "onload", false},
		"empty":           {"text/html", "", "", "", false},
	}
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("is")
		if name == "bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(bomb.Bytes())
			return
		}
		c := pages[name]
		w.Header()["Content-Type"] = []string{c.mediaType}
		if c.mediaType == "" {
			w.Header()["Content-Type"] = nil
		}
		_, _ = io.WriteString(w, c.body)
	})
	h.name("public.test", public)
	f := h.fetcher()
	pages["bomb"] = content{cut: true}
	for name, c := range pages {
		page, err := fetch(t, f, "http://public.test/?is="+strings.ReplaceAll(name, " ", "+"))
		if faultOf(err) != c.fault || (err == nil) != (c.fault == "") || !strings.Contains(page.Text, c.text) || page.Truncated != c.cut || len(page.Text) > capability.MaxWebText {
			t.Errorf("%s: %v, truncated %v, %.200q", name, err, page.Truncated, page.Text)
		}
	}
}

// TestMemory (fault 58): of 256 MiB that arrive as 256 kB, a fetch takes no more memory than its bounds need.
func TestMemory(t *testing.T) {
	var megabyte bytes.Buffer
	packed := gzip.NewWriter(&megabyte)
	_, _ = packed.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = packed.Close()
	bomb := bytes.Repeat(megabyte.Bytes(), 256) // parts of one stream
	h := newHostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(bomb)
	})
	h.name("public.test", public)
	f := h.fetcher()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, err := fetch(t, f, "http://public.test/")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || !page.Truncated || took > 64<<20 {
		t.Errorf("%d bytes of memory in all, %v, truncated %v", took, err, page.Truncated)
	}
}

// article is a page with a menu, things that are not seen, and a content.
const article = `<!doctype html><title> A  page </title><nav><a href=/menu>Menu</a></nav><!-- a comment --><script>alert("script")</script>
<div style="display: none">hidden words</div><p hidden>hidden too</p>
<article><h1>Heading</h1><p>` + sentence + sentence + `</p><h2>Part</h2><p>The <em>fox</em> jumps <a href="../over?a=b">over</a> it. ` + sentence +
	`<a href="javascript:alert(2)">click</a> <img src="data:image/png;base64,AAAA" alt="picture"></p></article><footer>Footer</footer>`

const sentence = "A sentence of some length, with commas, so that it counts as the content of an article for all who look for one. "

// formatBomb is a small page of which a parser makes a very large tree: each paragraph repeats all open elements.
func formatBomb() string {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "<font size=%d>", i)
	}
	b.WriteString(strings.Repeat("<p>x", 20_000))
	return b.String()
}

// TestTags: a parser makes at most one element of a tag, whatever a page does with end tags and with elements whose content the tokenizer of the
// filter reads in another way. Formatting is kept.
func TestTags(t *testing.T) {
	many := func(text string, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(text, "N", strconv.Itoa(i)))
		}
		return b.String()
	}
	for name, source := range map[string]string{
		"formats":            formatBomb(),
		"other end tags":     "<p>" + many("<b a=N></i>", 400) + many("<p>x", 1000),
		"ends in blocks":     "<p>" + many("<b a=N><div></b></div>", 200) + many("<p>x", 1000),
		"style in svg":       "<p><svg><style>" + many("<b a=N>", 400) + many("<p>x", 1000),
		"style in math":      "<p><math><style>" + many("<b a=N>", 400) + many("<p>x", 1000),
		"closed svg":         "<p><svg><style/></svg>" + many("<b a=N>", 400) + many("<p>x", 1000),
		"textarea in select": "<p><select><textarea>" + many("<b a=N>", 400) + many("<p>x", 1000),
		"joined texts":       "<p>" + many("<<!---->b a=N>", 400) + many("<p>x", 1000),
		"joined in svg":      "<p>" + many("<<svg></svg>b a=N>", 400) + many("<p>x", 1000),
		"attributes":         "<a " + many("aN ", 1000) + ">" + many("<p>x", 1000),
		"title":              "<p><select><title>" + many("<b a=N>", 400) + "</title>" + many("<p>x", 1000),
	} {
		doc, err := html.Parse(bytes.NewReader(plainTags([]byte(source))))
		nodes := 0
		if err == nil {
			for n := range doc.Descendants() {
				nodes += 1 + len(n.Attr)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if limit := 3*strings.Count(source, "<") + 2000; nodes > limit {
			t.Errorf("%s: %d nodes and attributes, more than %d", name, nodes, limit)
		}
	}
	here, _ := url.Parse("http://a.test/")
	for source, want := range map[string]string{
		"<p><b>a</b> <I>b</I> <code>c</code> <strong><b>d</b></strong> <a href=x>e</a>": "**a** *b* `c` **d** [e](http://a.test/x)",
		"<p><a href=x>a <a href=y>b":               "[a](http://a.test/x) [b](http://a.test/y)",
		"<p><a name=x>a<div><a href=y>b</a></div>": "a\n\n[b](http://a.test/y)",
		"<p><b>a<p>b": "**a**\n\nb",
		"<p>a <svg><title>no</title><style/><p>no</svg> <math><mi>x</mi></math> 1 &lt;b&gt;": "a x 1 &lt;b&gt;",
		"<p>a<script>'</p>'</script><textarea>b</textarea><xmp><b></xmp>":                    "a&lt;b&gt;",
		"<p>a<b style='display:none'>no</b><noscript>no</noscript>":                          "a",
	} {
		page, err := markdown(capability.WebPage{Text: source}, here, capability.WebWholePage)
		if err != nil || page.Text != want {
			t.Errorf("%s: %q, %v, want %q", source, page.Text, err, want)
		}
	}
}

// TestConverter: what a converter repeats for each row, or for each level of quotes and lists, is bounded.
func TestConverter(t *testing.T) {
	here, _ := url.Parse("http://a.test/")
	for name, c := range map[string]struct {
		source  string
		complex bool
		text    string
		most    int
	}{
		"a wide row":    {"<table><tr>" + strings.Repeat("<td>x", 1000) + strings.Repeat("<tr><td>x", 1000) + "</table>", false, "x", 200_000},
		"a long cell":   {"<table><tr><td>" + strings.Repeat("x", 10_000) + strings.Repeat("<tr><td>x", 1000) + "</table>", false, "| x |", 50_000},
		"wide tables":   {strings.Repeat("<table><tr>"+strings.Repeat("<td>x", 200)+strings.Repeat("<tr><td>x", 100)+"</table>", 10), false, "x", 100_000},
		"a large table": {"<table>" + strings.Repeat("<tr><td>x<td>y", 2000) + "</table>", false, "| x | y |", 50_000},
		"quotes":        {strings.Repeat("<blockquote>", maxNested+1) + "x", true, "", 0},
		"lists":         {strings.Repeat("<ul><li>", maxNested/2+1) + "x", true, "", 0},
		"long quotes":   {strings.Repeat("<blockquote>", maxNested) + strings.Repeat("x<br>", 200_000), true, "", 0},
		"some quotes":   {strings.Repeat("<blockquote>", maxNested) + "x", false, "> > x", 1000},
		"bold":          {strings.Repeat("<b>", 400) + "x", false, "**x**", 10},
	} {
		page, err := markdown(capability.WebPage{Text: c.source}, here, capability.WebWholePage)
		if c.complex != (err != nil) || err == nil && (!strings.Contains(page.Text, c.text) || len(page.Text) > c.most) {
			t.Errorf("%s: %v, %d bytes: %.100q", name, err, len(page.Text), page.Text)
		}
	}
}

// TestForms: the forms of a page hold its content, the page, or its source.
func TestForms(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, article)
	})
	h.name("public.test", public)
	f := h.fetcher()
	for form, want := range map[capability.WebForm]struct{ has, not []string }{
		capability.WebMarkdown:  {[]string{"*fox*", "](http://public.test/over?a=b)"}, []string{"Menu", "script", "comment", "hidden", "javascript:", "data:image", "Footer"}},
		capability.WebWholePage: {[]string{"*fox*", "[Menu](http://public.test/menu)", "Footer"}, []string{"script", "comment", "hidden", "javascript:", "data:image"}},
		capability.WebSource:    {[]string{`<em>fox</em>`, "<script>", "a comment"}, nil},
	} {
		page, err := f.Fetch(t.Context(), capability.WebRequest{URL: "http://public.test/dir/", Form: form})
		if err != nil || form != capability.WebSource && page.Title != "A page" || page.MediaType != "text/html" {
			t.Errorf("%s: %+v, %v", form, page, err)
		}
		for _, text := range want.has {
			if !strings.Contains(page.Text, text) {
				t.Errorf("%s lacks %q:\n%s", form, text, page.Text)
			}
		}
		for _, text := range want.not {
			if strings.Contains(page.Text, text) {
				t.Errorf("%s has %q:\n%s", form, text, page.Text)
			}
		}
	}
}

// TestImage: an image comes as its bytes.
func TestImage(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg") // the bytes say what it is
		_, _ = io.WriteString(w, png)
	})
	h.name("public.test", public)
	if page, err := fetch(t, h.fetcher(), "http://public.test/"); err != nil || page.MediaType != "image/png" || string(page.Image) != png || page.Text != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestPDF: the text of a PDF, and PDFs that keep a reader busy.
func TestPDF(t *testing.T) {
	good, err := os.ReadFile("testdata/hello.pdf")
	if err != nil {
		t.Fatal(err)
	}
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		if r.URL.Path == "/hello.pdf" {
			_, _ = w.Write(good)
			return
		}
		_, _ = io.WriteString(w, slowPDF())
	})
	h.name("public.test", public)
	f := h.fetcher()
	if page, err := fetch(t, f, "http://public.test/hello.pdf"); err != nil || !strings.Contains(page.Text, "Hello from a PDF") || page.Title != "A title" {
		t.Errorf("%+v, %v", page, err)
	}
	f.reader.readTime = short
	if _, err := fetch(t, f, "http://public.test/slow.pdf"); faultOf(err) != capability.WebTime {
		t.Errorf("a slow PDF: %v", err)
	}
	// Its room is free again, since the sandbox was closed.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := f.reader.room.Enter(ctx, room.Bound{Key: "pdf of acme", Most: pdfOfTenant}); err != nil {
		t.Error("the slow PDF is read on")
	}
}

// slowPDF is a PDF whose page draws a form that draws itself many times over.
func slowPDF() string {
	var b strings.Builder
	offsets := []int{}
	object := func(text string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), text)
	}
	b.WriteString("%PDF-1.7\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>")
	stream := func(dict, text string) string {
		return "<< " + dict + " /Length " + strconv.Itoa(len(text)) + " >>\nstream\n" + text + "\nendstream"
	}
	draw := strings.Repeat("/X Do ", 50)
	object(stream("", draw))
	for i := range 8 {
		object(stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>", i+6), draw))
	}
	object(stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", "0 0 m 1 1 l S "))
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.String()
}
