package capability

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/toolspec"
)

// ClientsKey is the typed name of Clients.
var ClientsKey = toolspec.NewCapability[Clients]("clients")

// Clients returns HTTP clients for connections. A tool can act with a connected account and never
// sees the credential (CONNECTION_ID_ONLY).
type Clients interface {
	// For returns a client that adds the credential of the connection to requests over https to the
	// hosts of the connection. A request to another host fails with ErrForeignHost. A redirect to
	// another host is followed without the credential, for GET and HEAD only. The client overwrites
	// a credential that the tool sets.
	//
	// The id must be the connection of the call's context; any other id fails with ErrNoConnection.
	// After the attempt the client fails with ErrLeaseOver. Its errors contain neither the
	// credential nor the query of a URL.
	For(connectionID string) (*http.Client, error)
	// BaseURL returns the scheme and the host of the connection, https://api.example.com, for a tool
	// that does not know them. If host is not empty (host or host:port), BaseURL returns this host if
	// it is a host of the connection, and otherwise ErrForeignHost. If host is empty, it returns the
	// first host of the connection that is not a pattern, or ErrNoHost.
	BaseURL(connectionID, host string) (*url.URL, error)
}

// AuthKey is the typed name of Auth. A tool that declares it can see tokens, so review it
// accordingly. Other tools use Clients.
var AuthKey = toolspec.NewCapability[Auth]("auth")

// Auth returns the credential itself, for services that an HTTP client cannot reach.
type Auth interface {
	// AccessToken returns the token of a connection of the kinds bearer and oauth2, or the key of
	// an API key. It fails with ErrNoToken for other kinds. The secret is destroyed when the
	// attempt ends.
	AccessToken(ctx context.Context, connectionID string) (Secret, error)
	// AuthHeaders returns the headers that authenticate a request to the hosts of the connection.
	// It fails with ErrNoToken if the credential is not sent in headers only.
	AuthHeaders(ctx context.Context, connectionID string) (map[string]Secret, error)
}

// Errors of connections. Their texts are safe to show to anyone.
var (
	// ErrNoConnection: the call may not use the connection, or it does not exist.
	ErrNoConnection = errors.New("the call has no such connection")
	// ErrForeignHost: the request is for a host that does not belong to the connection.
	ErrForeignHost = errors.New("the request is not for a host of the connection")
	// ErrNoHost: the connection has only patterns of hosts.
	ErrNoHost = errors.New("the connection names no host, only patterns such as *.example.com: the tool must name the host")
	// ErrLeaseOver: the attempt has ended, so its lease of the connection has ended.
	ErrLeaseOver = errors.New("the attempt is over: its connection cannot be used any more")
	// ErrNoToken: this kind of connection has no token.
	ErrNoToken = errors.New("the connection has no token")
)

// Unsent reports whether an error of an HTTP client says that there was no connection to the service, so
// that nothing of the request was sent.
func Unsent(err error) bool {
	var of interface{ Unsent() bool } // the error of a client that hides the cause
	if errors.As(err, &of) {
		return of.Unsent()
	}
	var dial *net.OpError
	var name *net.DNSError
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &name)
}
