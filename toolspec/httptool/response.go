package httptool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

const (
	// defaultWait is how long a call waits for a busy service that does not say for how long.
	defaultWait = 10 * time.Second
	// maxWait bounds the wait that a service may ask for.
	maxWait = time.Hour
)

// matches reports whether a status of a document, 404 or 4XX, names a status.
func matches(pattern string, status int) bool {
	text := strconv.Itoa(status)
	return pattern == text || len(pattern) == 3 && strings.EqualFold(pattern[1:], "xx") && pattern[0] == text[0]
}

// isStatus reports whether a text is a status of a document.
func isStatus(pattern string) bool {
	if len(pattern) != 3 || pattern[0] < '1' || pattern[0] > '5' {
		return false
	}
	if strings.EqualFold(pattern[1:], "xx") {
		return true
	}
	_, err := strconv.ParseUint(pattern, 10, 16)
	return err == nil
}

// read returns the value of a response, or an error that decides how the call continues. The text
// of the error has no part of the response except the status.
func (t *compiled) read(ctx context.Context, resp *http.Response, call toolspec.Call) (json.RawMessage, error) {
	results := t.doc.Response.Results
	if len(results) == 0 {
		results = []string{"2XX"}
	}
	if !slices.ContainsFunc(results, func(p string) bool { return matches(p, resp.StatusCode) }) {
		return nil, t.failure(resp, call)
	}
	limit := t.doc.Response.MaxBytes
	if limit == 0 {
		limit = DefaultBody
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, t.lost(ctx, err, call, nil)
	case len(body) > limit:
		return nil, t.unusable(resp, fmt.Sprintf("the response of the service has more than %d bytes", limit))
	}
	return t.valueOf(resp, body)
}

// unusable returns the error of a response 2XX that gives no value. Its text says that the effect has happened, so
// that nobody sends the request again.
func (t *compiled) unusable(resp *http.Response, text string) error {
	if !t.repeatable {
		text = fmt.Sprintf("the service answered %d, so the request has had its effect, but %s", resp.StatusCode, text)
	}
	return toolspec.Safef("%s", text)
}

// valueOf maps the body of a result to the value.
func (t *compiled) valueOf(resp *http.Response, body []byte) (json.RawMessage, error) {
	empty := len(bytes.TrimSpace(body)) == 0
	if empty && !t.doc.Response.Empty {
		return nil, t.unusable(resp, fmt.Sprintf("the response of the service (status %d) has no content", resp.StatusCode))
	}
	switch t.doc.Response.Type {
	case ResponseText:
		if !utf8.Valid(body) {
			return nil, t.unusable(resp, "the response of the service is not UTF-8")
		}
		return json.Marshal(string(body))
	case ResponseBytes:
		if empty {
			return json.RawMessage("[]"), nil
		}
		return json.Marshal(toolspec.Parts{partOf(resp.Header.Get("Content-Type"), body)})
	default:
		if empty {
			return json.RawMessage("null"), nil
		}
		if strictjson.Check(body) != nil {
			return nil, t.unusable(resp, "the response of the service is not JSON")
		}
		if value, ok := take(body, t.pointer); ok {
			return value, nil
		}
		return nil, t.unusable(resp, "the response of the service has no value at the pointer of the tool")
	}
}

// take returns the part of a JSON value that a pointer names; false if there is none.
func take(raw json.RawMessage, pointer strictjson.Path) (json.RawMessage, bool) {
	for _, token := range pointer {
		var object map[string]json.RawMessage
		var array []json.RawMessage
		index, err := strconv.Atoi(token)
		switch {
		case json.Unmarshal(raw, &object) == nil && object[token] != nil:
			raw = object[token]
		case err == nil && json.Unmarshal(raw, &array) == nil && index >= 0 && index < len(array):
			raw = array[index]
		default:
			return nil, false
		}
	}
	return raw, true
}

// partOf returns a body as a part, by its media type.
func partOf(contentType string, body []byte) toolspec.Part {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = "application/octet-stream"
	}
	p := toolspec.Part{Type: toolspec.PartDocument, MediaType: mediaType, Data: body}
	switch {
	case strings.HasPrefix(mediaType, "image/"):
		p.Type = toolspec.PartImage
	case strings.HasPrefix(mediaType, "audio/"):
		p.Type = toolspec.PartAudio
	}
	return p
}

// failure returns the error of a status that is no result.
func (t *compiled) failure(resp *http.Response, call toolspec.Call) error {
	status := resp.StatusCode
	is, message, listed := t.meaning(resp)
	switch {
	case status >= 200 && status < 300 && !listed:
		return t.unusable(resp, fmt.Sprintf("the status %d is no result of the tool", status))
	case is == Busy:
		return toolspec.RetryAfter(waitOf(resp.Header), message)
	case is == Transient && t.again(call):
		return fmt.Errorf("the service answered with status %d", status)
	case is == Transient && !t.repeatable:
		return toolspec.Unanswered(message + "; the request may have had its effect")
	}
	return toolspec.Safef("%s", message)
}

// meaning returns what a status means, by the document or by the usual meaning. listed says that the document lists it as an
// error.
func (t *compiled) meaning(resp *http.Response) (is FailureKind, message string, listed bool) {
	is, message = classifyStatus(resp, t.doc.Connection == Required)
	for _, f := range t.doc.Response.Errors {
		if matches(f.Status, resp.StatusCode) {
			return f.Is, cmp.Or(f.Message, message), true
		}
	}
	return is, message, false
}

func classifyStatus(resp *http.Response, connected bool) (FailureKind, string) {
	status, name := resp.StatusCode, http.StatusText(resp.StatusCode)
	answered := strings.TrimSpace(fmt.Sprintf("the service answered %d %s", status, name))
	waits := resp.Header.Get("Retry-After") != ""
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && waits:
		return Busy, "the service limits the rate of requests"
	case status == http.StatusUnauthorized && connected:
		return Final, answered + ": it does not accept the credential of the connection. Sign in to the connection again, or replace its credential"
	case status == http.StatusForbidden && connected:
		return Final, answered + ": the account of the connection may not do this"
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return Transient, answered
	case status == http.StatusSeeOther: // the usual answer to a request that has had its effect
		return Transient, answered + ": the tool does not follow this redirect"
	case status >= 300 && status < 400:
		return Final, answered + ": the tool does not follow this redirect"
	}
	return Final, answered
}

// again reports whether the tool may have another attempt after this one.
func (t *compiled) again(call toolspec.Call) bool {
	return t.repeatable && call.Attempt < t.attempts
}

// waitOf returns how long the service asks to wait.
func waitOf(h http.Header) time.Duration {
	if after, ok := capability.RetryAfter(h); ok {
		return min(after, maxWait)
	}
	return defaultWait
}

// lost returns the error of a request that got no response, or only a part of it. address is the
// address of the request; it is nil if the response has begun.
func (t *compiled) lost(ctx context.Context, err error, call toolspec.Call, address *url.URL) error {
	var timeout interface{ Timeout() bool }
	nothing := address != nil && unsent(err, address.String())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, capability.ErrForeignHost):
		return toolspec.Safef("%w: nothing was sent", capability.ErrForeignHost)
	case errors.Is(err, capability.ErrNotPublic):
		return toolspec.Safef("%w: nothing was sent", capability.ErrNotPublic)
	case errors.Is(err, capability.ErrLeaseOver):
		return err
	case nothing && !t.repeatable:
		return toolspec.RetryAfter(defaultWait, "the service cannot be reached")
	case t.again(call):
		return errors.New("the service gave no response")
	}
	what := "the service gave no response"
	switch {
	case nothing:
		what = "the service cannot be reached"
	case errors.As(err, &timeout) && timeout.Timeout():
		what = "the service did not answer in time"
	}
	if t.repeatable {
		return toolspec.Safef("%s", what)
	}
	return toolspec.Unanswered(what + "; the request may have had its effect")
}

// unsent reports whether the request for this address was not sent. If the error names another address,
// the client has followed a redirect, so the request was sent.
func unsent(err error, address string) bool {
	var failed *url.Error
	if errors.As(err, &failed) && failed.URL != address {
		return false
	}
	return capability.Unsent(err)
}
