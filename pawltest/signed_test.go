package pawltest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// marker signs requests with one header.
type marker struct{}

func (marker) Name() string    { return "marker" }
func (marker) Parts() []string { return []string{"mark"} }
func (marker) Sign(r *http.Request, _ []byte, part func(string) []byte, _ time.Time) error {
	r.Header.Set("X-Mark", strings.Repeat("x", len(part("mark"))))
	return nil
}

// TestRunSigned: a signer of the test signs the requests.
func TestRunSigned(t *testing.T) {
	t.Parallel()
	got := pawltest.Call{
		Tool: tool(fetch("https://api.example.com"), declares(capability.ClientsKey.Name())), Args: `{"text":""}`,
		Connection: &pawltest.Connection{
			Provider:   broker.Provider{ID: "test", Kind: broker.Signed, Signer: "marker", Hosts: []string{"api.example.com"}},
			Credential: map[string]string{"mark": "four-and-ten-"}, Signers: []broker.Signer{marker{}},
			Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Header.Get("X-Mark"))) }),
		},
	}.Run(t)
	if string(got.Value) != `{"text":"xxxxxxxxxxxxx"}` {
		t.Errorf("got %s, %+v", got.Value, got.Result)
	}
}
