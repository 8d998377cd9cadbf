package remote

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

const (
	keyID  = "billing-1"
	secret = "0123456789abcdef0123456789abcdef"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// testKeys reads the key of the tests from a file.
func testKeys(t *testing.T) Keys {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("# keys\n\n"+keyID+" "+encoded(secret)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// answer signs a body as a worker does.
func answer(w http.ResponseWriter, r *http.Request, status int, body string) {
	forgeAnswer(w.Header(), r, status, body, keyID, secret, answerTag)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func forgeAnswer(h http.Header, r *http.Request, status int, body, id, key, tag string) {
	forgeParts(h, r, status, body, id, key, tag, answerParts...)
}

// forgeParts signs parts of an answer only.
func forgeParts(h http.Header, r *http.Request, status int, body, id, key, tag string, parts ...string) {
	h.Set("Content-Type", mediaType)
	digest, _ := digestOf([]byte(body))
	h.Set("Content-Digest", digest)
	given := strings.TrimPrefix(r.Header.Get("Signature"), label+"=")
	inputs, err := httpsfv.UnmarshalDictionary([]string{label + "=(" + strings.Join(parts, " ") + `);created=1;keyid="` + id + `";tag="` + tag + `"`})
	if err != nil {
		panic(err)
	}
	covered, _ := inputs.Get(label)
	base, params, err := signatureBase(covered.(httpsfv.InnerList), func(item string) (string, error) {
		return map[string]string{
			`"@status"`: strconv.Itoa(status), `"content-type"`: mediaType, `"content-digest"`: digest, answerParts[3]: given,
		}[item], nil
	})
	if err != nil {
		panic(err)
	}
	signature, _ := bytesField(label, mac([]byte(key), base))
	h.Set("Signature-Input", label+"="+params)
	h.Set("Signature", signature)
}

// toolAt returns a tool whose worker is at this address.
func toolAt(t *testing.T, address string, effect toolspec.Effect, probe bool) toolspec.Tool {
	t.Helper()
	d, err := remotetool.Read("tools.yaml", []byte(`
format: 1
workers: [{name: billing, url: "`+address+`", key: `+keyID+`}]
tools:
  - id: billing__pay
    worker: billing
    description: Pays.
    version: "1"
    effect: `+string(effect)+`
    risk: low
    probe: `+strconv.FormatBool(probe)+`
    redaction: {allow: [""]}
    input: {type: object, properties: {}}
    output: {}
`))
	if err != nil {
		t.Fatal(err)
	}
	return d.Bind(New(testKeys(t)), nil)[0]
}

// run runs the tool in its last attempt.
func run(t *testing.T, tool toolspec.Tool) (json.RawMessage, error) {
	t.Helper()
	return tool.Run(t.Context(), json.RawMessage(`{"a":1}`), toolspec.Call{ToolID: "billing__pay", InvocationID: "i", Attempt: 3})
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/pawl"
}
