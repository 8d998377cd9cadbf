package db

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Cause says why no connection was made. Its text is safe for logs.
type Cause string

// Causes of connections that were not made.
const (
	CauseRefused     Cause = "nothing listens there"
	CauseNoHost      Cause = "there is no such host"
	CauseNoTLS       Cause = "the server has no TLS"
	CauseUnknownCA   Cause = "the authority of the server's certificate is unknown"
	CauseHostname    Cause = "the server's certificate is for another host"
	CauseCertificate Cause = "the server's certificate is not valid"
	CauseTimeout     Cause = "no answer in time"
)

// refusedTLS is the text of the driver's error for a server that refuses TLS. The driver has no type for this error.
const refusedTLS = "server refused TLS connection"

// causeOf returns the cause in an error of the driver, or "".
func causeOf(err error) Cause {
	var connect *pgconn.ConnectError
	var name *net.DNSError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &authority):
		return CauseUnknownCA
	case errors.As(err, &host):
		return CauseHostname
	case errors.As(err, &invalid):
		return CauseCertificate
	case errors.As(err, &connect) && errors.Unwrap(connect) != nil && strings.Contains(errors.Unwrap(connect).Error(), refusedTLS):
		return CauseNoTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return CauseRefused
	case errors.As(err, &name) && name.IsNotFound:
		return CauseNoHost
	case errors.As(err, &network) && network.Timeout():
		return CauseTimeout
	}
	return ""
}
