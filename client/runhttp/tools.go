package runhttp

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// Patterns of the paths of registered tools, for http.ServeMux.
const (
	// ToolsPath lists the registrations of a tenant (GET), and registers a document (POST).
	ToolsPath = "/v1/tools"
	// ToolPath lists the versions of a registration (GET), and removes it (DELETE).
	ToolPath = "/v1/tools/{name}"
)

const (
	// maxTools bounds a document, in bytes, as package client/registry does.
	maxTools = 1 << 20
	// bodyTime is how long a client may take to send a document.
	bodyTime = 30 * time.Second
)

// Registrations is the body of an answer about registrations, or about versions of one of them.
type Registrations struct {
	Registrations []client.ToolVersion `json:"registrations"`
}

// Removed is the body of the answer to a removal.
type Removed struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

const foreignTools = "this page may not register tools"

type toolsHandler struct{ *handler }

// all serves ToolsPath.
func (h *toolsHandler) all(w http.ResponseWriter, r *http.Request) {
	tenantID, by, leave, ok := h.enterAdministrator(w, r, http.MethodGet, http.MethodPost)
	if !ok {
		return
	}
	defer leave()
	if r.Method == http.MethodGet {
		all, err := h.Registry.List(r.Context(), tenantID)
		h.answerTools(w, r, Registrations{append([]client.ToolVersion{}, all...)}, err)
		return
	}
	kind := client.ToolKind(r.URL.Query().Get("kind"))
	if kind == "" {
		kind = client.HTTPTools
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // some servers have no read deadline
	document, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTools))
	if err != nil {
		refuse(w, toolspec.CodeValidation, "the body must be a document of at most 1 MiB, sent within 30 seconds")
		return
	}
	done, err := h.Registry.Register(r.Context(), client.ToolRegistration{TenantID: tenantID, Kind: kind, File: "document", Document: document, By: by})
	h.answerTools(w, r, done, err)
}

// one serves ToolPath.
func (h *toolsHandler) one(w http.ResponseWriter, r *http.Request) {
	tenantID, by, leave, ok := h.enterAdministrator(w, r, http.MethodGet, http.MethodDelete)
	if !ok {
		return
	}
	defer leave()
	name := r.PathValue("name")
	if r.Method == http.MethodGet {
		all, err := h.Registry.Versions(r.Context(), tenantID, name)
		h.answerTools(w, r, Registrations{append([]client.ToolVersion{}, all...)}, err)
		return
	}
	version, err := h.Registry.Unregister(r.Context(), tenantID, name, by)
	h.answerTools(w, r, Removed{name, version}, err)
}

// enterAdministrator checks origin, method, token and right, in this order, and takes a place. It answers a request
// that it refuses.
func (h *toolsHandler) enterAdministrator(w http.ResponseWriter, r *http.Request, methods ...string) (tenantID, by string, leave func(), ok bool) {
	if !h.opens(w, r, foreignTools, methods...) {
		return "", "", nil, false
	}
	tenants := r.URL.Query()["tenant"]
	if len(tenants) != 1 || (toolspec.Identity{TenantID: tenants[0], RunID: "any", ToolCallID: "any"}).Check() != nil {
		refuse(w, toolspec.CodeValidation, "the query must name one tenant: ?tenant=acme")
		return "", "", nil, false
	}
	viewer, ok := h.authenticate(w, r, tenants[0])
	if !ok {
		return "", "", nil, false
	}
	leave, ok = h.enter(w, viewerKey{tenants[0], viewer.Identity}, "you register tools as often as you may at the same time")
	if !ok {
		return "", "", nil, false
	}
	may, err := h.Registry.MayAdminister(r.Context(), tenants[0], viewer.Identity)
	if err == nil && may {
		return tenants[0], viewer.Identity, leave, true
	}
	leave()
	if err != nil {
		h.unavailable(r.Context(), w, "rights cannot be looked up", err)
	} else {
		refuse(w, toolspec.CodeAuthzDenied, "policy does not give you the role that registers tools of this tenant")
	}
	return "", "", nil, false
}

// answerTools answers with body as JSON, or with the refusal for err.
func (h *toolsHandler) answerTools(w http.ResponseWriter, r *http.Request, body any, err error) {
	switch {
	case errors.Is(err, client.ErrToolsInvalid):
		refuse(w, toolspec.CodeValidation, err.Error())
		return
	case errors.Is(err, client.ErrToolsRefused):
		refuse(w, toolspec.CodeConflict, err.Error())
		return
	case errors.Is(err, client.ErrNotFound):
		refuse(w, toolspec.CodeUnavailable, "there is no such registration")
		return
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(body)
	}
	if err != nil {
		h.unavailable(r.Context(), w, "the tools cannot be read or changed", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}
