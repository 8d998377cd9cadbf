package remote

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

// TestSignatureVector: the signature base is that of RFC 9421, whose example in appendix B.2.5 has this signature.
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	key, err := base64.StdEncoding.DecodeString("uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==")
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := httpsfv.UnmarshalDictionary([]string{`sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"`})
	if err != nil {
		t.Fatal(err)
	}
	covered, _ := inputs.Get("sig-b25")
	base, _, err := signatureBase(covered.(httpsfv.InnerList), func(item string) (string, error) {
		return map[string]string{
			`"date"`: "Tue, 20 Apr 2021 02:07:55 GMT", `"@authority"`: "example.com", `"content-type"`: "application/json",
		}[item], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := base64.StdEncoding.EncodeToString(mac(key, base)); got != "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=" {
		t.Errorf("%s\n%s", got, base)
	}
}

// TestRequest: the request has what the worker needs, and headers that sign it.
func TestRequest(t *testing.T) {
	t.Parallel()
	var request remotetool.ToolRequest
	var header http.Header
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		header = r.Header.Clone()
		if err := json.Unmarshal(body, &request); err != nil || !hasDigest(r.Header, body) || r.Method != http.MethodPost || r.URL.Path != "/pawl" {
			t.Errorf("%s %s: %s, %v", r.Method, r.URL, body, err)
		}
		answer(w, r, 200, `{"outcome":"done","value":1}`)
	})
	call := toolspec.Call{
		InvocationID: "i", IdempotencyKey: "k", Attempt: 2, Epoch: 4,
		Context: toolspec.Context{TenantID: "acme", RunID: "r", ActorID: "user:ann", SubjectID: "user:sue", ConnectionID: "c"},
	}
	if _, err := toolAt(t, address, toolspec.StateChange, false).Run(t.Context(), json.RawMessage(`{"a":1}`), call); err != nil {
		t.Fatal(err)
	}
	request.TimeoutMs, request.Args = 0, nil
	want := remotetool.ToolRequest{
		Operation: remotetool.Run, ToolID: "billing__pay", ToolVersion: "1", InvocationID: "i", IdempotencyKey: "k", Attempt: 2, Epoch: 4,
		Context: remotetool.RequestContext{TenantID: "acme", RunID: "r", ActorID: "user:ann", SubjectID: "user:sue"},
	}
	if fmt.Sprint(request) != fmt.Sprint(want) {
		t.Errorf("%+v", request)
	}
	input := header.Get("Signature-Input")
	for _, part := range []string{`pawl=("@method" "@path" "content-type" "content-digest");created=`, `;expires=`, `;nonce="`, `;keyid="billing-1";alg="hmac-sha256";tag="pawl-request"`} {
		if !strings.Contains(input, part) {
			t.Errorf("Signature-Input is %s", input)
		}
	}
}

// TestLife: a request is valid a little longer than its attempt, so that a worker whose clock is ahead takes it, and never for more than a minute.
func TestLife(t *testing.T) {
	t.Parallel()
	target, now := &url.URL{Scheme: "https", Host: "billing.example.com", Path: "/pawl"}, time.Unix(1_800_000_000, 999_999_999)
	for life, want := range map[time.Duration]int64{
		0: 3, 900 * time.Millisecond: 4, time.Second: 4, 5 * time.Second: 8, 57 * time.Second: 60, time.Hour: 60,
	} {
		header := http.Header{}
		if _, err := sign(header, target, nil, keyID, []byte(secret), now, life); err != nil {
			t.Fatal(err)
		}
		if input := header.Get("Signature-Input"); !strings.Contains(input, fmt.Sprintf(";created=%d;expires=%d;", now.Unix(), now.Unix()+want)) {
			t.Errorf("a request with %s left has %s", life, input)
		}
	}
}

// TestKeys: the file of keys is strict, and errors and texts hold no key.
func TestKeys(t *testing.T) {
	t.Parallel()
	good := encoded(secret)
	for text, fault := range map[string]string{
		"a " + good:                       "",
		"a " + good + "\n\n#x\nb " + good: "",
		"a " + good + "\na " + good:       "two keys",
		"a":                               "line 1 must",
		"a b c":                           "line 1 must",
		"a/b " + good:                     "line 1 must",
		"a " + encoded("short"):           "32 to 64 bytes",
		"a " + good[1:]:                   "32 to 64 bytes",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := ReadKeys(path)
		if (err == nil) != (fault == "") || err != nil && (!strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), good)) {
			t.Errorf("%q: %v", text, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", keys, keys, keys); strings.Contains(shown, good) || strings.Contains(shown, "48 49") {
			t.Error(shown)
		}
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("a "+good), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(path); err == nil {
		t.Error("a file that others may read was read")
	}
}

// TestPlainHTTPStays: a request over http connects to loopback addresses only, whatever the name means.
func TestPlainHTTPStays(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "192.0.2.1:80": false, "[2001:db8::1]:80": false, "x": false} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(addresses, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.To4() != nil && !network.IP.IsLoopback()
	})
	if at < 0 {
		t.Skip("the machine has no other address")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addresses[at].(*net.IPNet).IP.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// Anybody who can edit the tools could write this; Read refuses it first.
	to := remotetool.Worker{Name: "w", URL: "http://" + l.Addr().String(), Key: keyID}
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	if _, err := New(testKeys(t)).Send(t.Context(), to, remotetool.ToolRequest{}); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}
