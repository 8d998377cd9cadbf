package remote

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

// TestCertificates: nothing is sent to a host without a valid certificate, and an attempt there did nothing.
func TestCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, 200, `{"outcome":"done","value":1}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the handshake that fails
	server.StartTLS()
	defer server.Close()
	tool := toolAt(t, server.URL+"/pawl", toolspec.StateChange, false)
	_, err := run(t, tool)
	var busy *toolspec.BusyError
	if !errors.As(err, &busy) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%T %v", err, err)
	}

	c := New(testKeys(t))
	c.secure.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	got, err := c.Send(t.Context(), remotetool.Worker{URL: server.URL + "/pawl", Key: keyID}, remotetool.ToolRequest{Args: json.RawMessage("{}")})
	if err != nil || string(got.Value) != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}
