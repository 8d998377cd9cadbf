package runhttp

import (
	"encoding/json"
	"net/http"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// CatalogPath is the pattern of the path of the catalog, for http.ServeMux.
const CatalogPath = "/v1/catalog"

// maxGraph bounds the id of a graph, in characters, as relations do.
const maxGraph = 200

// Offered is the body of the answer: the tools that the viewer may call as an actor of the tenant, by
// their ids. A tool that policy denies for all arguments, or that a kill switch stops, is not among them.
type Offered struct {
	Tools []catalog.Entry `json:"tools"`
}

type catalogHandler struct{ *handler }

// ServeHTTP checks origin and token before it reads the catalog. The actor is always the identity in
// the token: a viewer must not see the list of another actor, which would say what that actor may do.
func (h *catalogHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.opens(w, r, "this page may not read the catalog") {
		return
	}
	query := r.URL.Query()
	tenants, graphs := query["tenant"], query["graph"]
	if len(tenants) != 1 || len(graphs) > 1 {
		refuse(w, toolspec.CodeValidation, "the query must name one tenant, and at most one graph: ?tenant=acme&graph=support")
		return
	}
	by := catalog.Viewer{TenantID: tenants[0]}
	if len(graphs) == 1 {
		by.GraphID = graphs[0]
	}
	if (toolspec.Identity{TenantID: by.TenantID, RunID: "any", ToolCallID: "any"}).Check() != nil {
		refuse(w, toolspec.CodeValidation, "a tenant has a name of letters, digits, '_', '.' and '-'")
		return
	}
	if by.GraphID != "" && toolspec.CheckVisible("a graph", by.GraphID, maxGraph) != nil {
		refuse(w, toolspec.CodeValidation, "a graph has a name of at most 200 visible characters")
		return
	}
	viewer, ok := h.authenticate(w, r, by.TenantID)
	if !ok {
		return
	}
	by.ActorID = viewer.Identity
	leave, ok := h.enter(w, viewerKey{by.TenantID, by.ActorID}, "you read the catalog as often as you may at the same time")
	if !ok {
		return
	}
	defer leave()
	visible, err := h.Catalogs.Catalog(r.Context(), by)
	if err != nil {
		h.unavailable(r.Context(), w, "the catalog cannot be read", err)
		return
	}
	body, err := json.Marshal(Offered{Tools: append([]catalog.Entry{}, visible.List()...)})
	if err != nil {
		h.unavailable(r.Context(), w, "the catalog cannot be written", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
