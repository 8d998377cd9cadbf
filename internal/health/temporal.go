package health

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// NoServer begins the sentence for an address at which nothing listens.
const NoServer = "no server listens"

// dialTime bounds a connection that looks for the cause of a fault.
const dialTime = 2 * time.Second

// NoNamespace reports whether an error says that a namespace does not exist.
func NoNamespace(err error) bool {
	return errors.As(err, new(*serviceerror.NamespaceNotFound)) || errors.As(err, new(*serviceerror.NotFound))
}

// NamespaceFault returns the sentence for a namespace that does not exist.
func NamespaceFault(namespace string) string {
	return fmt.Sprintf("the Temporal server has no namespace %q: correct TEMPORAL_NAMESPACE, or create the namespace (temporal operator namespace create --namespace %s)",
		namespace, namespace)
}

// TemporalFault returns one sentence that says why Temporal is not usable, and what to do. It has no address. If the server does not
// answer, TemporalFault connects to it to find the cause.
func TemporalFault(ctx context.Context, o client.Options, err error) string {
	code := serviceerror.ToStatus(err).Code()
	switch {
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return fmt.Sprintf("Temporal refuses the credentials (%s): correct TEMPORAL_API_KEY or the client certificate, or their rights in the namespace", code)
	case NoNamespace(err):
		return NamespaceFault(cmp.Or(o.Namespace, client.DefaultNamespace))
	case code == codes.ResourceExhausted:
		return "Temporal is busy (ResourceExhausted): wait, or raise its limits"
	case code == codes.Unavailable || code == codes.DeadlineExceeded:
		if sentence := connectFault(ctx, o); sentence != "" {
			return sentence
		}
		return fmt.Sprintf("Temporal does not answer (%s): start it, or correct TEMPORAL_ADDRESS", code)
	}
	return fmt.Sprintf("Temporal is not usable (%s)", code)
}

// tlsOf returns the TLS configuration of a client, or nil for a client without TLS. The SDK turns TLS on if there are
// credentials.
func tlsOf(o client.Options) *tls.Config {
	switch {
	case o.ConnectionOptions.TLS != nil:
		return o.ConnectionOptions.TLS.Clone()
	case o.Credentials != nil && !o.ConnectionOptions.TLSDisabled:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}

// connectFault connects as the client does, and returns the cause of a failure, or "" if it finds none. It does not connect if
// the client goes through a proxy or dials in a way of its own.
func connectFault(ctx context.Context, o client.Options) string {
	address := cmp.Or(o.HostPort, client.DefaultHostPort)
	host, _, err := net.SplitHostPort(address)
	if err != nil || len(o.ConnectionOptions.DialOptions) > 0 {
		return ""
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if err != nil || proxy != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	config := tlsOf(o)
	if config == nil {
		return plainFault(ctx, host, address)
	}
	config.ServerName = cmp.Or(config.ServerName, host)
	config.NextProtos = []string{"h2"}
	return tlsFault(handshake(ctx, address, config))
}

// plainFault looks for the fault of a client without TLS.
func plainFault(ctx context.Context, host, address string) string {
	//nolint:gosec // It asks only whether the server has TLS, and sends and trusts nothing.
	err := handshake(ctx, address, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err == nil || isAlert(err) {
		return "Temporal requires TLS, and the client has none: set TEMPORAL_TLS=true, or TEMPORAL_API_KEY"
	}
	return dialFault(err)
}

// handshake makes a connection with TLS. It waits for the first byte of the server, because a server refuses a client's certificate
// after the handshake.
func handshake(ctx context.Context, address string, config *tls.Config) error {
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetReadDeadline(deadline)
	}
	if _, err := conn.Read(make([]byte, 1)); isAlert(err) {
		return err
	}
	return nil
}

// isAlert reports whether an error is an alert of the server in the TLS protocol.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func tlsFault(err error) string {
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &record):
		return "Temporal has no TLS, and the client requires it: unset TEMPORAL_TLS and TEMPORAL_API_KEY, or turn on TLS at the server"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "the certificate of Temporal is of an unknown authority: name the file of its authority with TEMPORAL_TLS_SERVER_CA_CERT_PATH"
	case errors.As(err, new(x509.HostnameError)):
		return "the certificate of Temporal is for another host: correct TEMPORAL_ADDRESS or TEMPORAL_TLS_SERVER_NAME"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the certificate of Temporal is not valid, for example expired: give the server another certificate"
	case isAlert(err):
		return "Temporal refuses the TLS connection: correct TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH"
	}
	return dialFault(err)
}

func dialFault(err error) string {
	var name *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return NoServer + " at TEMPORAL_ADDRESS: start Temporal there, or correct the address"
	case errors.As(err, &name) && name.IsNotFound:
		return "the host of TEMPORAL_ADDRESS does not exist: correct its name, or the DNS of this machine"
	case errors.As(err, &network) && network.Timeout():
		return "Temporal does not answer in time: correct TEMPORAL_ADDRESS, or a firewall in front of it"
	}
	return ""
}
