package provider

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// The kinds of errors for which the provider sent no kind.
const (
	// kindConnection: there was no response.
	kindConnection = "connection"
	// kindCut: the stream ended before the response did.
	kindCut = "cut"
	// kindIdle: the provider sent nothing for a long time.
	kindIdle = "idle"
	// kindForeign: the response is not a stream, or not of the format.
	kindForeign = "foreign_response"
	// kindStream: the provider sent an error without a kind inside of a stream.
	kindStream = "stream_error"
	// kindRedirect: the provider sent a redirect.
	kindRedirect = "redirect"
	// kindNoToken: the token of the connection has ended, and there is no new one.
	kindNoToken = "no_token"
)

const (
	// maxError bounds what is read of the body of an error.
	maxError = 64 << 10
	// maxAfter bounds Error.After.
	maxAfter = time.Hour
)

// Error is an error of a provider, or of the way to it.
type Error struct {
	// Status is the HTTP status. It is 0 if there was no response, or if the error came inside of a
	// response.
	Status int
	// Kind is the provider's kind of the error, such as overloaded_error, of a-z, A-Z, 0-9 and _ . - only. It
	// can also be connection, cut, idle, foreign_response, redirect or no_token, for errors that no provider sent, and stream_error for an
	// error without a kind inside of a response.
	Kind string
	// Retry says that the same request may succeed later.
	Retry bool
	// After is how long the provider asks to wait, at most an hour. It is 0 if the provider does not say it.
	After time.Duration

	cause error
}

// Error names the status and the kind. It has no text of the provider: such a text can repeat the request.
func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Kind != "":
		return fmt.Sprintf("the model provider answered %d (%s)", e.Status, e.Kind)
	case e.Status != 0:
		return fmt.Sprintf("the model provider answered %d", e.Status)
	default:
		return cmp.Or(meanings[e.Kind], "no complete response of the model provider") + " (" + e.Kind + ")"
	}
}

// meanings are what the kinds of errors without a status mean.
var meanings = map[string]string{
	kindConnection: "the model provider cannot be reached",
	kindCut:        "the response of the model provider ended before it was complete",
	kindIdle:       "the model provider sent nothing for a long time",
	kindForeign:    "the response of the model provider is no stream of the agent's format",
	kindNoToken:    "the connection of the model has no valid token now",
}

// LogReason returns the text of Error, which is safe for logs.
func (e *Error) LogReason() string { return e.Error() }

// Unwrap returns the cause: a [*wire.ProviderError] with the provider's own text, or an error of the network.
func (e *Error) Unwrap() error { return e.cause }

// lost returns the error of a request whose response did not come, or did not end. ctx is the context of
// the request.
func lost(ctx context.Context, kind string, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		kind, err = kindIdle, errIdle
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &Error{Kind: kind, Retry: !isPermanent(err), cause: err}
}

// isPermanent reports whether another request over the same connection would fail with the same error.
func isPermanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, capability.ErrForeignHost) || errors.Is(err, capability.ErrNoConnection) || errors.Is(err, capability.ErrLeaseOver) ||
		errors.As(err, &certificate)
}

// refused reads a response with another status than 200.
func refused(codec wire.Codec, response *http.Response) error {
	e := &Error{Status: response.StatusCode, Retry: retried(response), After: after(response.Header)}
	if response.StatusCode/100 == 3 {
		e.Kind = kindRedirect
		return e
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxError))
	if err != nil && len(body) == 0 {
		e.cause = err
		return e
	}
	var sent *wire.ProviderError
	if _, err := codec.Decode(body); !errors.As(err, &sent) {
		// Gemini sends the error of a stream as an array.
		stream := codec.Stream()
		if _, err := stream.Write(body); err == nil {
			if _, err := stream.End(); !errors.As(err, &sent) {
				return e
			}
		}
	}
	if sent != nil {
		e.Kind, e.cause = word(sent.Kind), sent
		e.Retry = e.Retry && sent.Kind != "insufficient_quota" // the account has no credit, so waiting does not help
		e.After = cmp.Or(e.After, retryInfo(sent.Raw))
	}
	return e
}

// retryInfo reads how long Gemini asks to wait: a google.rpc.RetryInfo in the error, in place of a header.
func retryInfo(sent json.RawMessage) time.Duration {
	var e struct {
		Details []struct {
			Type       string `json:"@type"`
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
	}
	if json.Unmarshal(sent, &e) != nil {
		return 0
	}
	for _, d := range e.Details {
		if pause, err := time.ParseDuration(d.RetryDelay); d.Type == "type.googleapis.com/google.rpc.RetryInfo" && err == nil && pause > 0 {
			return min(pause, maxAfter)
		}
	}
	return 0
}

// retried reports whether the same request may succeed later. As in the clients of the providers,
// X-Should-Retry comes before the status.
func retried(response *http.Response) bool {
	switch response.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return isPassing(response.StatusCode)
}

// isPassing reports whether a request that got an HTTP status may succeed later.
func isPassing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return status >= 500
	}
}

// passing reports whether an error inside of a stream passes. Some servers send an HTTP status as its kind.
func passing(kind string) bool {
	if status, err := strconv.Atoi(kind); err == nil {
		return isPassing(status)
	}
	switch strings.ToLower(kind) {
	case "": // Ollama: it accepted the request and failed later
		return true
	case "overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error", "rate_limit_exceeded", "internal_error",
		"unavailable", "resource_exhausted", "internal", "deadline_exceeded":
		return true
	default:
		return false
	}
}

// after reads Retry-After and retry-after-ms. Some providers send a fraction of a second.
func after(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms)
	}
	if pause, ok := capability.RetryAfter(h); ok {
		return min(pause, maxAfter)
	}
	if seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && seconds > 0 {
		return bounded(seconds * 1000)
	}
	return 0
}

func bounded(ms float64) time.Duration {
	return time.Duration(min(ms, float64(maxAfter.Milliseconds()))) * time.Millisecond
}

// word returns the characters of an error's kind that may be shown, at most 64.
func word(kind string) string {
	kind = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-", c) {
			return c
		}
		return -1
	}, kind)
	return kind[:min(len(kind), 64)]
}
