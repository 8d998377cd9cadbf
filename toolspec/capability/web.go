package capability

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// WebKey is the typed name of Web.
var WebKey = toolspec.NewCapability[Web]("web")

// Web fetches pages from the public web.
type Web interface {
	// Fetch gets the page at a URL of the scheme http or https. It sends no cookie, no credential and no
	// Referer, and it connects to public addresses only. It follows redirects within the host of the URL.
	// It honours robots.txt, and it keeps pages for the tenant of the request as long as their cache
	// headers allow.
	//
	// A page that it does not get is a *WebError. Other errors are those of ctx.
	Fetch(ctx context.Context, r WebRequest) (WebPage, error)
}

// WebRequest asks for a page.
type WebRequest struct {
	URL string
	// TenantID is the tenant of the call. Pages that are kept are not shared between tenants.
	TenantID string
	Form     WebForm
}

// WebForm is the form in which Fetch returns an HTML page. It changes nothing for other pages.
type WebForm string

// The forms of an HTML page.
const (
	// WebMarkdown is the main content as Markdown, without menus and footers. It is the whole page if no
	// main content is found.
	WebMarkdown WebForm = "markdown"
	// WebWholePage is the whole page as Markdown.
	WebWholePage WebForm = "page"
	// WebSource is the HTML itself.
	WebSource WebForm = "source"
)

// MaxWebText bounds the text of a page, in bytes.
const MaxWebText = 1 << 20

// MaxWebImage bounds an image, in bytes. An answer to a model has at most 4 MiB of data in base64.
const MaxWebImage = 3 << 20

// WebPage is a page that was fetched. Everything in it comes from the web: it is not to be trusted.
type WebPage struct {
	// URL is the address of the page, after redirects.
	URL   string
	Title string
	// MediaType is the type of what the server sent, without parameters, such as text/html.
	MediaType string
	// Text is UTF-8, of at most MaxWebText bytes; empty for an image.
	Text string
	// Truncated says that the page has more text.
	Truncated bool
	// Image are the bytes of an image of the type PNG, JPEG, GIF or WebP, at most MaxWebImage.
	Image []byte
	// MovedTo is the address at another host to which the host redirects. Nothing was asked of the other
	// host, and the other fields but URL are empty.
	MovedTo string
}

// WebFault is a reason for which a page was not fetched.
type WebFault string

// The reasons.
const (
	// WebBadURL: the URL, or the URL of a redirect, is not the URL of a web page.
	WebBadURL WebFault = "bad_url"
	// WebAddress: the host has an address that is not public.
	WebAddress WebFault = "address"
	// WebPort: the port is not allowed.
	WebPort WebFault = "port"
	// WebRedirect: too many redirects, a loop of redirects, or a redirect from https to http.
	WebRedirect WebFault = "redirect"
	// WebRobots: robots.txt of the host forbids it, or cannot be read.
	WebRobots WebFault = "robots"
	// WebUnreachable: the host does not exist, does not answer, or does not speak HTTP.
	WebUnreachable WebFault = "unreachable"
	// WebTLS: the certificate of the host is not valid.
	WebTLS WebFault = "tls"
	// WebTime: the host was too slow.
	WebTime WebFault = "time"
	// WebStatus: the server answered with an error.
	WebStatus WebFault = "status"
	// WebTooLarge: the headers, or a file that cannot be cut, are too large.
	WebTooLarge WebFault = "too_large"
	// WebType: the type of the file cannot be shown, or its content is not of its type.
	WebType WebFault = "type"
	// WebContent: the content is damaged, or too complex.
	WebContent WebFault = "content"
)

// WebError says why a page was not fetched. Its text holds no part of the URL, and of the response only the
// status code.
type WebError struct {
	Fault WebFault
	Text  string
}

// Error returns the safe text.
func (e *WebError) Error() string { return e.Text }
