package capability

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/toolspec"
)

// SearchKey is the typed name of Search.
var SearchKey = toolspec.NewCapability[Search]("search")

// MaxSearchResults bounds the results of a search.
const MaxSearchResults = 20

// Search asks a search service of the web.
type Search interface {
	// Search returns the first results for a query, at most limit, which is 1 to MaxSearchResults. client
	// adds the credential of the call's connection; it is nil if the service needs none.
	//
	// A search without an answer is a *WebError. Other errors are those of ctx.
	Search(ctx context.Context, client *http.Client, query string, limit int) ([]SearchResult, error)
}

// SearchResult is a page that a search found. Its texts come from the web: they are not to be trusted.
type SearchResult struct {
	// Title has at most 200 bytes, and Snippet at most 500: text without markup and control characters.
	Title string
	// URL is an address of the scheme http or https.
	URL     string
	Snippet string
}
