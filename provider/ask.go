package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// idleTime is how long a provider may send nothing. Providers send a sign of life at least every 15 seconds,
// but some think for minutes before the first byte.
const idleTime = 5 * time.Minute

// errIdle ends a request whose provider sends nothing any more.
var errIdle = errors.New("the provider sent nothing for a long time")

// Ask sends a request and returns the whole response. base is as for [Request.New]. text, if it is not nil, gets the
// pieces of the model's text while they arrive; a caller that repeats a request must drop the pieces of the earlier
// request. Nothing of a response may be acted on before Ask returns it without an error (AG-03).
//
// An error is an [*Error] if the provider or the network failed. With an error, the response has the parts that
// arrived before it, so that the caller can count their usage: no call in it may run. Ask sends the request
// once: repeating it is up to the caller. It follows no redirect.
func Ask(ctx context.Context, client *http.Client, base *url.URL, r Request, text func(string)) (wire.Response, error) {
	return ask(ctx, client, base, r, text, idleTime)
}

func ask(ctx context.Context, client *http.Client, base *url.URL, r Request, text func(string), idle time.Duration) (wire.Response, error) {
	b, err := open(ctx, client, base, r, idle)
	if err != nil {
		return wire.Response{}, err
	}
	defer b.Close()
	stream := r.Codec.Stream()
	say := func() {
		if piece := stream.Text(); piece != "" && text != nil {
			text(piece)
		}
	}
	buffer := make([]byte, 32<<10)
	for {
		n, readErr := b.Read(buffer)
		_, err := stream.Write(buffer[:n])
		say()
		if err != nil {
			out, _ := stream.End()
			return out, &Error{Kind: kindForeign, cause: fmt.Errorf("provider: %w", err)}
		}
		if readErr == nil {
			continue
		}
		out, err := stream.End()
		say()
		return out, judge(out, err, readErr)
	}
}

// judge returns the error of a response whose stream ended with endErr and whose body ended with readErr, which is
// io.EOF at its regular end.
func judge(out wire.Response, endErr, readErr error) error {
	var sent *wire.ProviderError
	switch {
	case errors.As(endErr, &sent):
		return Sent(sent)
	case endErr != nil:
		return &Error{Kind: kindForeign, cause: fmt.Errorf("provider: %w", endErr)}
	case out.Finish != wire.FinishCut:
		return nil // the body ended behind a complete response: how it ended changes nothing
	case readErr == io.EOF: //nolint:errorlint // Read returns it unwrapped
		return &Error{Kind: kindCut, Retry: true, cause: io.ErrUnexpectedEOF}
	default:
		return readErr
	}
}

// Sent returns the error of a response in which the provider has sent an error.
func Sent(sent *wire.ProviderError) *Error {
	return &Error{Kind: cmp.Or(word(sent.Kind), kindStream), Retry: passing(sent.Kind), After: retryInfo(sent.Raw), cause: sent}
}

// Open sends a request and returns the body of its response, for turn.Turn.Take with Streamed. It returns the
// same errors as Ask. An error of Read is an [*Error] too, or the error of ctx. The caller closes the body.
func Open(ctx context.Context, client *http.Client, base *url.URL, r Request) (io.ReadCloser, error) {
	return open(ctx, client, base, r, idleTime)
}

func open(ctx context.Context, client *http.Client, base *url.URL, r Request, idle time.Duration) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := r.New(ctx, base)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	// A redirect would send the conversation to a host that the connection does not name.
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b := &body{ctx: ctx, cancel: cancel, idle: idle, silence: time.AfterFunc(idle, func() { cancel(errIdle) })}
	response, err := own.Do(request) //nolint:bodyclose // body closes it
	if err != nil {
		err = lost(ctx, kindConnection, err)
		b.end()
		return nil, err
	}
	b.ReadCloser = response.Body
	if response.StatusCode != http.StatusOK {
		refusal := refused(r.Codec, response)
		gaveUp := ctx.Err() != nil && !errors.Is(context.Cause(ctx), errIdle)
		_ = b.Close()
		if gaveUp { // while the text of the error arrived
			return nil, ctx.Err()
		}
		return nil, refusal
	}
	if isDocument, isPage := mediaType(response.Header); isDocument || isPage {
		_ = b.Close()
		return nil, &Error{Kind: kindForeign, Retry: isPage} // a page is often that of a proxy whose server is away
	}
	return b, nil
}

// mediaType reports whether a response is a document of JSON or a page of HTML, which no stream is.
func mediaType(h http.Header) (isDocument, isPage bool) {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "application/json", err == nil && kind == "text/html"
}

// body is the body of a response. It ends if the provider sends nothing for the time idle.
type body struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	idle    time.Duration
	silence *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.silence.Reset(b.idle)
	if err != nil && err != io.EOF { //nolint:errorlint // Read returns it unwrapped
		err = lost(b.ctx, kindCut, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *body) end() {
	b.silence.Stop()
	b.cancel(nil)
}
