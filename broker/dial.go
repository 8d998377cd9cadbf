package broker

import (
	"net"
	"net/http"
	"syscall"
	"time"
)

// newTransport makes a transport; control may refuse addresses.
func newTransport(control func(network, address string, _ syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: control}
	t := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 100, MaxIdleConnsPerHost: 16,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	if control == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}
