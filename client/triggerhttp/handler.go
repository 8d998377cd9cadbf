package triggerhttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// Path is the pattern of the paths that the handler serves, for http.ServeMux.
const Path = "/v1/triggers/{tenant}/{trigger}"

const (
	// bodyTime is how long a client may take to send an event.
	bodyTime = 15 * time.Second
	// startTime bounds the time in which a run is started.
	startTime = 20 * time.Second
	// readers bounds the requests that the handler reads or answers at the same time, and readersOfTrigger the
	// requests of one trigger among these. places bounds the events that have arrived whole and are verified and
	// started at the same time.
	readers, readersOfTrigger, places = 1024, 256, 128
	// placeTime bounds how long a request waits for the trigger to be found, and each time for a place.
	placeTime = 5 * time.Second
	// retryAfter is when a client may try again, in seconds.
	retryAfter = "10"
)

// Secrets returns the secret with which a sender signs, from a connection of the tenant. The error is ErrNoSecret if
// there is none. client/postgres has an implementation.
type Secrets interface {
	WebhookSecret(ctx context.Context, tenantID, connectionID string) (secret []byte, err error)
}

// ErrNoSecret means that there is no such connection, or that it is of another provider than webhook.
var ErrNoSecret = errors.New("the trigger has no secret: there is no such connection of the provider webhook")

// Options are the parts of a handler. Firer and Secrets are required.
type Options struct {
	Firer   trigger.Firer
	Secrets Secrets
	// Log gets which triggers refused requests, and why: at most ten lines at once, and one per second after that. It has
	// no value of an event or a header. Nothing is logged if it is nil.
	Log *slog.Logger
}

// New returns the handler of Path. It answers 202 if the run of an event has started, now or before, or if the
// event waits in the queue; 401 if there is no such trigger or the request is not signed with its secret; 408 for
// a body that does not arrive whole within 15 seconds; 413 for a body of more than trigger.MaxEvent bytes; 422 if
// the event starts no run, for a reason that the record has; 503 if the sender may send the event again later.
func New(o Options) (http.Handler, error) {
	if o.Firer.Store == nil || o.Firer.Start == nil || o.Secrets == nil {
		return nil, errors.New("triggerhttp: Firer and Secrets are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, &handler{Options: o, logs: rate.NewLimiter(rate.Every(time.Second), 10)})
	return mux, nil
}

type handler struct {
	Options
	room room.Room
	// logs bounds what senders without a secret can write into the log.
	logs *rate.Limiter
}

// ServeHTTP verifies an event and starts its run.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, toolspec.CodeValidation, "send the event with POST")
		return
	}
	// The trigger is looked up before the body is read, so that a sender who knows no trigger takes no place from
	// the others, even if he sends slowly.
	d, ok := h.triggerOf(r.Context(), w, r)
	if !ok {
		return
	}
	stopReading, ok := h.enter(w, r, room.Bound{Key: "read", Most: readers}, room.Bound{Key: "read " + d.TenantID + "/" + d.Name, Most: readersOfTrigger})
	if !ok {
		return
	}
	defer stopReading()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // some servers have no read deadline
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, trigger.MaxEvent))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, toolspec.CodeValidation, "an event is a body of at most 256 KiB")
		return
	case err != nil:
		refuse(w, http.StatusRequestTimeout, toolspec.CodeTimeout, "the event did not arrive whole within 15 seconds; send it again")
		return
	}
	leave, ok := h.enter(w, r, room.Bound{Key: "handle", Most: places})
	if !ok {
		return
	}
	defer leave()
	// The start of a run must not stop when the client closes its connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), startTime)
	defer cancel()
	// The trigger may have been retired or changed since, because a body can take long to arrive.
	if d, ok = h.triggerOf(ctx, w, r); ok {
		h.receive(ctx, w, r.Header, body, d)
	}
}

// enter waits up to placeTime until all bounds have a place. If ok is true, the caller must call leave once.
// Otherwise enter has answered the request.
func (h *handler) enter(w http.ResponseWriter, r *http.Request, bounds ...room.Bound) (leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(r.Context(), placeTime)
	defer cancel()
	leave, err := h.room.Enter(ctx, bounds...)
	if err != nil {
		noPlace(w)
	}
	return leave, err == nil
}

// triggerOf returns the trigger of a request. If ok is false, it has answered the request.
func (h *handler) triggerOf(ctx context.Context, w http.ResponseWriter, r *http.Request) (d trigger.Document, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	tenantID, name := r.PathValue("tenant"), r.PathValue("trigger")
	if (toolspec.Identity{TenantID: tenantID, RunID: "any", ToolCallID: "any"}).Check() != nil || toolspec.CheckVisible("trigger", name, trigger.MaxName) != nil {
		refuseUnknown(w)
		return d, false
	}
	d, err := h.Firer.Trigger(ctx, tenantID, name, trigger.Webhook)
	switch {
	case errors.Is(err, trigger.ErrNotFound) || err == nil && d.Webhook == nil:
		refuseUnknown(w)
	case err != nil:
		h.refuseForNow(ctx, w, tenantID, name, err)
	default:
		return d, true
	}
	return d, false
}

// receive verifies the signature of an event, and starts its run or queues it.
func (h *handler) receive(ctx context.Context, w http.ResponseWriter, header http.Header, body []byte, d trigger.Document) {
	secret, err := h.Secrets.WebhookSecret(ctx, d.TenantID, d.Webhook.Secret)
	defer clear(secret)
	if errors.Is(err, ErrNoSecret) {
		h.log(ctx, d.TenantID, d.Name, ErrNoSecret.Error())
		refuseUnknown(w)
		return
	}
	if err != nil {
		h.refuseForNow(ctx, w, d.TenantID, d.Name, err)
		return
	}
	eventID, ok := verifyEvent(*d.Webhook, secret, header, body)
	if !ok {
		h.log(ctx, d.TenantID, d.Name, "the signature is wrong, or its time is not within 5 minutes of now")
		refuseUnknown(w)
		return
	}
	_, err = h.Firer.Fire(ctx, d, trigger.Event{ID: eventID, Data: body})
	var refused *trigger.RefusedError
	switch {
	case errors.As(err, &refused):
		h.log(ctx, d.TenantID, d.Name, refused.Reason)
		refuse(w, http.StatusUnprocessableEntity, toolspec.CodeValidation, "the event was not accepted")
	case errors.Is(err, trigger.ErrTooMany):
		h.log(ctx, d.TenantID, d.Name, trigger.ErrTooMany.Error())
		noPlace(w)
	case err != nil:
		h.refuseForNow(ctx, w, d.TenantID, d.Name, err)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// refuseUnknown answers a request that does not prove that its sender knows a trigger and its secret.
func refuseUnknown(w http.ResponseWriter) {
	refuse(w, http.StatusUnauthorized, toolspec.CodeAuthzDenied, "there is no such trigger, or the signature is not valid")
}

func noPlace(w http.ResponseWriter) {
	refuse(w, http.StatusServiceUnavailable, toolspec.CodeCapacity, "the server has no place for another event; send it again")
}

// refuseForNow tells the sender to send the event again.
func (h *handler) refuseForNow(ctx context.Context, w http.ResponseWriter, tenantID, name string, err error) {
	h.log(ctx, tenantID, name, errs.Reason(err))
	refuse(w, http.StatusServiceUnavailable, toolspec.CodeUnavailable, "the event cannot be taken now; send it again")
}

// log logs a trigger that started no run. triggerOf has checked the form of tenantID and name. Anybody can choose them,
// because a failure of the store comes before the check of the signature.
func (h *handler) log(ctx context.Context, tenantID, name, reason string) {
	if h.logs.Allow() {
		h.Log.WarnContext(ctx, "a webhook started no run", "tenant", tenantID, "trigger", name, "reason", reason)
	}
}

func refuse(w http.ResponseWriter, status int, code toolspec.Code, words string) {
	body, err := json.Marshal(struct {
		ErrorCode   toolspec.Code `json:"errorCode"`
		SafeMessage string        `json:"safeMessage"`
	}{code, words})
	if err != nil {
		body = []byte("{}")
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
