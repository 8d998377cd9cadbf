package capability

import (
	"errors"
	"net/http"

	"github.com/pawl-run/pawl/toolspec"
)

// PublicHTTPKey is the typed name of PublicHTTP.
var PublicHTTPKey = toolspec.NewCapability[PublicHTTP]("public_http")

// PublicHTTP sends requests to the public web, without any credential.
type PublicHTTP interface {
	// Client returns a client for https. It connects to public addresses only: other requests fail with
	// ErrNotPublic. It follows redirects of GET and HEAD within the host of the request; any other
	// redirect is the response. It sends no credential and keeps no cookie.
	Client() *http.Client
}

// ErrNotPublic says that the request is not for https, or its host has an address that is not public.
var ErrNotPublic = errors.New("the host is not a public host with https")
