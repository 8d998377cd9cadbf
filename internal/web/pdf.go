package web

import (
	"context"
	"embed"
	"io"
	"strings"

	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of a PDF.
const (
	maxPages = 300
	// sandboxPages is the memory of the sandbox, in pages of 64 KiB: 192 MiB.
	sandboxPages = 3072
)

var errPDF = fault(capability.WebContent, "the PDF is damaged, encrypted or too complex")

// pdfPage sets the text of a PDF. PDFium reads it in a WebAssembly sandbox of its own: the sandbox has no
// files and no network, and it is closed with ctx. The sandbox is interpreted, since compiling it would take
// longer than the reading.
func pdfPage(ctx context.Context, page capability.WebPage, data []byte) (capability.WebPage, error) {
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, Stdout: io.Discard, Stderr: io.Discard,
		// By default the library gives the sandbox all files of the machine.
		FSConfig: wazero.NewFSConfig().WithFSMount(embed.FS{}, "/"),
		RuntimeConfig: wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(sandboxPages).WithCloseOnContextDone(true).
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	})
	if err != nil {
		return page, errPDF
	}
	defer func() { _ = pool.Close() }()
	within, err := pool.GetInstance(time.Minute)
	if err != nil {
		return page, errPDF
	}
	defer func() { _ = within.Close() }()
	doc, err := within.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return page, errPDF
	}
	if title, err := within.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: doc.Document, Tag: "Title"}); err == nil {
		page.Title = oneLine(title.Value, 300)
	}
	count, err := within.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return page, errPDF
	}
	var text strings.Builder
	for i := range min(count.PageCount, maxPages) {
		t, err := pdfText(within, requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}})
		if err != nil {
			return page, errPDF
		}
		if text.WriteString(strings.ToValidUTF8(strings.ReplaceAll(t, "\r\n", "\n"), "\ufffd") + "\n\n"); text.Len() > capability.MaxWebText {
			break
		}
	}
	page.Text, page.Truncated = strings.TrimSpace(text.String()), count.PageCount > maxPages
	cutText(&page)
	return page, nil
}

func pdfText(within pdfium.Pdfium, page requests.Page) (string, error) {
	t, err := within.GetPageText(&requests.GetPageText{Page: page})
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(t.Text, "\x00", ""), nil
}
