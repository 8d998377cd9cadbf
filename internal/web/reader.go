package web

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// Bounds of the HTML and the PDFs that are converted at the same time, in all and of one tenant.
const (
	htmlAtOnce   = 2
	htmlOfTenant = 1
	pdfAtOnce    = 2
	pdfOfTenant  = 1
)

// reader makes pages of answers.
type reader struct {
	// room is taken by a conversion until it ends, also if nobody waits for it any more.
	room     room.Room
	readTime time.Duration
}

// imageTypes are the images that models read.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

var (
	errType   = fault(capability.WebType, "the type of the file cannot be shown: only text, HTML, JSON, PDF and images can")
	errOther  = fault(capability.WebType, "the content is not of the type that the server says")
	errBinary = fault(capability.WebType, "the content is binary and not text")
)

// read makes a page of an answer. It sets all but URL.
func (r *reader) read(ctx context.Context, a *answer, tenantID string, form capability.WebForm) (page capability.WebPage, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.readTime)
	defer cancel()
	declared := a.response.Header.Get("Content-Type")
	page.MediaType, _, err = mime.ParseMediaType(declared)
	if err != nil || page.MediaType == "application/octet-stream" {
		declared = ""
		page.MediaType, _, _ = mime.ParseMediaType(http.DetectContentType(a.body))
	}
	switch found, _, _ := mime.ParseMediaType(http.DetectContentType(a.body)); {
	case strings.HasPrefix(page.MediaType, "image/"):
		if !slices.Contains(imageTypes, page.MediaType) && page.MediaType != "image/svg+xml" {
			return page, errType
		}
		if page.MediaType == "image/svg+xml" {
			return readText(a, declared, page)
		}
		if !slices.Contains(imageTypes, found) {
			return page, errOther
		}
		if a.cut || len(a.body) > capability.MaxWebImage {
			return page, fault(capability.WebTooLarge, "the image has more than 3 MiB")
		}
		page.MediaType, page.Image = found, a.body
		return page, nil
	case page.MediaType == "application/pdf":
		if found != "application/pdf" {
			return page, errOther
		}
		if a.cut {
			return page, fault(capability.WebTooLarge, "the PDF has more than 5 MiB")
		}
		return r.convert(ctx, []room.Bound{{Key: "pdf", Most: pdfAtOnce}, {Key: "pdf of " + tenantID, Most: pdfOfTenant}}, func() (capability.WebPage, error) { return pdfPage(ctx, page, a.body) })
	case page.MediaType == "text/html" || page.MediaType == "application/xhtml+xml":
		if page, err = readText(a, declared, page); err != nil || form == capability.WebSource {
			cutText(&page)
			return page, err
		}
		return r.convert(ctx, []room.Bound{{Key: "html", Most: htmlAtOnce}, {Key: "html of " + tenantID, Most: htmlOfTenant}}, func() (capability.WebPage, error) { return markdown(page, a.request.URL, form) })
	case isText(page.MediaType):
		return readText(a, declared, page)
	}
	return page, errType
}

// convert runs f when there is room. If ctx ends first, it returns, and f keeps the room until it ends.
func (r *reader) convert(ctx context.Context, bounds []room.Bound, f func() (capability.WebPage, error)) (capability.WebPage, error) {
	leave, err := r.room.Enter(ctx, bounds...)
	if err != nil {
		return capability.WebPage{}, fault(capability.WebTime, "too many other pages are being read: try again later")
	}
	type outcome struct {
		page capability.WebPage
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if recover() != nil { // a panic of a library, because of content that it does not expect
				done <- outcome{err: errContent}
			}
			leave()
		}()
		page, err := f()
		done <- outcome{page, err}
	}()
	select {
	case o := <-done:
		return o.page, o.err
	case <-ctx.Done():
		return capability.WebPage{}, fault(capability.WebTime, "the content takes too long to read")
	}
}

var errContent = fault(capability.WebContent, "the content is damaged, or too complex to be read")

// isText reports whether content of a type is shown as it is.
func isText(mediaType string) bool {
	main, sub, _ := strings.Cut(mediaType, "/")
	return main == "text" || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") ||
		main == "application" && slices.Contains([]string{
			"json", "xml", "javascript", "x-javascript", "ecmascript", "yaml", "x-yaml", "toml", "x-ndjson", "x-sh", "sql", "graphql",
		}, sub)
}

// maxDamage bounds the invalid bytes of a text: at most one in maxDamage.
const maxDamage = 20

// readText decodes the characters of an answer. declared is its Content-Type.
func readText(a *answer, declared string, page capability.WebPage) (capability.WebPage, error) {
	body := a.body
	encoding, name, certain := charset.DetermineEncoding(body, declared)
	if _, parameters, err := mime.ParseMediaType(declared); err == nil && parameters["charset"] != "" {
		if known, _ := charset.Lookup(parameters["charset"]); known == nil {
			return page, fault(capability.WebContent, "the server names a character encoding that does not exist")
		}
	}
	if !certain && utf8.Valid(body[:read.WholeRunes(body)]) {
		name = "utf-8" // without a declaration the library looks at the first 1024 bytes only
	}
	if name != "utf-8" {
		decoded, err := encoding.NewDecoder().Bytes(body)
		if err != nil {
			return page, fault(capability.WebContent, "the characters of the page cannot be decoded")
		}
		body = decoded
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(body, 0) >= 0 {
		return page, errBinary
	}
	if a.cut {
		body = body[:read.WholeRunes(body)]
	}
	bad := 0
	for rest := body; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 {
			bad++
		}
		rest = rest[size:]
	}
	if bad > 0 && bad*maxDamage > len(body) {
		return page, fault(capability.WebContent, "the characters of the page are not of the encoding that the server names")
	}
	page.Text, page.Truncated = strings.ToValidUTF8(string(body), "\ufffd"), a.cut
	if !strings.Contains(page.MediaType, "html") {
		cutText(&page)
	}
	return page, nil
}

// cutText cuts the text of a page at its bound.
func cutText(page *capability.WebPage) {
	if len(page.Text) > capability.MaxWebText {
		page.Text, page.Truncated = page.Text[:read.RuneStart(page.Text, capability.MaxWebText)], true
	}
}
