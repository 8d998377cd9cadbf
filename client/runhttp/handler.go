package runhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/client/uistream"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// Path is the pattern of the paths that the handler serves, for http.ServeMux.
const Path = "/v1/runs/{run}/events"

const (
	// maxBearer is the maximum size of a token, in bytes.
	maxBearer = 16 << 10
	// retryAfterMs is when a client may try again if the handler has no place for it, or if another
	// service does not answer.
	retryAfterMs = 5000
)

// New returns a handler of Path. With Options.Catalogs it also serves CatalogPath, and with Options.Registry
// also ToolsPath and ToolPath.
func New(o Options) (http.Handler, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, &handler{Options: o, places: newPlaces(o)})
	if o.Catalogs != nil {
		mux.Handle(CatalogPath, &catalogHandler{&handler{Options: o, places: newPlaces(o)}})
	}
	if o.Registry != nil {
		tools := &toolsHandler{&handler{Options: o, places: newPlaces(o)}}
		mux.HandleFunc(ToolsPath, tools.all)
		mux.HandleFunc(ToolPath, tools.one)
	}
	return mux, nil
}

func newPlaces(o Options) places {
	return places{max: o.MaxStreams, maxOfViewer: o.MaxStreamsOfViewer, of: map[viewerKey]int{}}
}

type handler struct {
	Options
	places places
}

// request is a request that was read.
type request struct {
	tenantID, runID string
	from            uistream.Position
	viewer          Viewer
}

// ServeHTTP checks origin, token and right before it reads events.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.opens(w, r, "this page may not watch runs") {
		return
	}
	req, ok := h.read(w, r)
	if !ok {
		return
	}
	leave, ok := h.enter(w, viewerKey{req.tenantID, req.viewer.Identity}, "you watch as many runs as you may at the same time")
	if !ok {
		return
	}
	defer leave()
	if lastSeq, may := h.mayWatch(w, r, req); may {
		h.stream(w, r, req, lastSeq)
	}
}

// enter takes a place for a viewer; leave gives the place back. If there is no place, enter answers the request.
// It answers with tooMany if the viewer holds as many places as one viewer may.
func (h *handler) enter(w http.ResponseWriter, key viewerKey, tooMany string) (leave func(), ok bool) {
	taken, ofViewer := h.places.take(key)
	if taken {
		return func() { h.places.giveBack(key) }, true
	}
	code, words := toolspec.CodeCapacity, "the server has no place for another stream"
	if ofViewer {
		code, words = toolspec.CodeRateLimited, tooMany
	}
	refuse(w, code, words)
	return nil, false
}

// opens checks the origin and the method of a request. If it returns false, it has answered the
// request: a preflight request, or a request that it refuses. foreign is the message for a page of
// another origin.
func (h *handler) opens(w http.ResponseWriter, r *http.Request, foreign string, methods ...string) bool {
	if len(methods) == 0 {
		methods = []string{http.MethodGet}
	}
	allowed := strings.Join(append(methods, http.MethodOptions), ", ")
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && !isOwn(origin, r) {
		if !slices.Contains(h.Origins, origin) {
			refuse(w, toolspec.CodeAuthzDenied, foreign)
			return false
		}
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", "Retry-After")
	}
	switch {
	case r.Method == http.MethodOptions: // a preflight request of the browser, which has no token
		header.Set("Access-Control-Allow-Methods", allowed)
		header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return false
	case slices.Contains(methods, r.Method):
		return true
	default:
		header.Set("Allow", allowed)
		answer(w, http.StatusMethodNotAllowed, toolspec.CodeValidation, "only "+strings.Join(methods, ", "), 0)
		return false
	}
}

// isOwn reports whether the origin has the host and the port to which the request was sent. A browser sends an origin
// with each POST and DELETE, also to the origin of its page (Fetch, section 3.1).
func isOwn(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// read reads the viewer, the run and the position that a request names. It answers a request that
// it refuses.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (req request, ok bool) {
	tenants := r.URL.Query()["tenant"]
	if len(tenants) != 1 {
		refuse(w, toolspec.CodeValidation, "the query must name one tenant: ?tenant=acme")
		return req, false
	}
	req.tenantID, req.runID = tenants[0], r.PathValue("run")
	if (toolspec.Identity{TenantID: req.tenantID, RunID: req.runID, ToolCallID: "any"}).Check() != nil {
		refuse(w, toolspec.CodeValidation, "a tenant and a run have names of letters, digits, '_', '.' and '-'")
		return req, false
	}
	var err error
	if req.from, err = uistream.ParsePosition(r.Header.Get("Last-Event-ID")); err != nil {
		refuse(w, toolspec.CodeValidation, "Last-Event-ID: "+err.Error())
		return req, false
	}
	req.viewer, ok = h.authenticate(w, r, req.tenantID)
	return req, ok
}

// authenticate returns the sender of a request. It answers a request without a valid token.
func (h *handler) authenticate(w http.ResponseWriter, r *http.Request, tenantID string) (Viewer, bool) {
	token, found := bearer(r)
	if !found {
		unauthorized(w, "a bearer token is needed, in the header field Authorization")
		return Viewer{}, false
	}
	viewer, err := h.Authenticator.Authenticate(r.Context(), tenantID, token)
	switch {
	case errors.Is(err, ErrUnauthenticated), err == nil && viewer.Identity == "":
		unauthorized(w, ErrUnauthenticated.Error())
	case err != nil:
		h.unavailable(r.Context(), w, "tokens cannot be verified", err)
	default:
		return viewer, true
	}
	return Viewer{}, false
}

// bearer returns the token of the header field Authorization. It ignores a token in the URL, because
// URLs are in logs and histories.
func bearer(r *http.Request) (string, bool) {
	fields := r.Header.Values("Authorization")
	if len(fields) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxBearer
}

// mayWatch reports whether the viewer may watch the run. lastSeq is the last event that the answer covers. If the
// viewer may not, mayWatch answers the request, in the same way for a run that does not exist.
func (h *handler) mayWatch(w http.ResponseWriter, r *http.Request, req request) (lastSeq int64, may bool) {
	lastSeq, may, err := h.Owners.OwnsRun(r.Context(), req.tenantID, req.runID, req.viewer.Identity, 0)
	switch {
	case err != nil:
		h.unavailable(r.Context(), w, "the run cannot be looked up", err)
	case !may:
		refuse(w, toolspec.CodeUnavailable, "there is no such run")
	}
	return lastSeq, err == nil && may
}

// unavailable answers a request that failed because another service, such as the database, returned
// err.
func (h *handler) unavailable(ctx context.Context, w http.ResponseWriter, what string, err error) {
	if ctx.Err() != nil {
		return // nobody reads the answer
	}
	h.Log.Warn("a request cannot be served", "what", what, "error", errs.Reason(err))
	refuse(w, toolspec.CodeCapacity, what+"; try again")
}

func unauthorized(w http.ResponseWriter, words string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
	refuse(w, toolspec.CodeNeedsReauth, words)
}

// refuse answers with the HTTP status of a code, as the table in toolspec/code.go has it.
func refuse(w http.ResponseWriter, code toolspec.Code, words string) {
	info, retry := toolspec.InfoOf(code), int64(0)
	if words == "" {
		words = info.Message
	}
	if info.Kind == toolspec.KindBusy {
		retry = retryAfterMs
	}
	answer(w, info.HTTP, code, words, retry)
}

// Refusal is the body of an answer that is no stream.
type Refusal struct {
	ErrorCode    toolspec.Code `json:"errorCode"`
	SafeMessage  string        `json:"safeMessage"`
	RetryAfterMs int64         `json:"retryAfterMs,omitempty"`
}

func answer(w http.ResponseWriter, status int, code toolspec.Code, words string, retry int64) {
	body, err := json.Marshal(Refusal{code, words, retry})
	if err != nil {
		body = []byte("{}")
	}
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(retry/1000, 10))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
