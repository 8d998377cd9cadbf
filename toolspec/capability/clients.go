package capability

import (
	"context"
	"errors"
	"net/http"

	"github.com/pawl-run/pawl/toolspec"
)

// ClientsKey is the typed name of Clients.
var ClientsKey = toolspec.NewCapability[Clients]("clients")

// Clients makes HTTP clients of connections. It is how a tool acts with somebody's
// account without ever seeing the credential (CONNECTION_ID_ONLY).
type Clients interface {
	// For returns a client that adds the connection's credential to requests, over
	// https, for the connection's own hosts. Requests to other hosts are ErrForeignHost;
	// a redirect there is followed without the credential, by GET and HEAD alone.
	// What the tool itself sets in the place of the credential is overwritten.
	//
	// The id must be that of the call's context: any other is ErrNoConnection. The
	// client serves until the attempt ends, and then fails with ErrLeaseOver. Its
	// errors hold neither the credential nor a query.
	For(connectionID string) (*http.Client, error)
}

// AuthKey is the typed name of Auth. A tool that declares it can see tokens and has
// to be reviewed accordingly; Clients is the way for all others.
var AuthKey = toolspec.NewCapability[Auth]("auth")

// Auth hands a tool the credential itself, for services that no HTTP client
// reaches.
type Auth interface {
	// AccessToken returns the token of a connection of the kinds bearer and oauth2,
	// or the key of an API key; others have none (ErrNoToken). It is destroyed when
	// the attempt ends.
	AccessToken(ctx context.Context, connectionID string) (Secret, error)
	// AuthHeaders returns the headers that authenticate a request to the connection's
	// hosts; ErrNoToken where the credential does not travel in headers alone.
	AuthHeaders(ctx context.Context, connectionID string) (map[string]Secret, error)
}

// What goes wrong with connections, in words that are safe to show to anyone.
var (
	// ErrNoConnection: the call may not use it, or there is no such connection.
	ErrNoConnection = errors.New("the call has no such connection")
	// ErrForeignHost: the request is for a host that is not the connection's.
	ErrForeignHost = errors.New("the request is not for a host of the connection")
	// ErrLeaseOver: the attempt has ended, and with it the right to use it.
	ErrLeaseOver = errors.New("the attempt is over: its connection cannot be used any more")
	// ErrNoToken: the credential of this kind of connection is no token.
	ErrNoToken = errors.New("the connection has no token")
)
