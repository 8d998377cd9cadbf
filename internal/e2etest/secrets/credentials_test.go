package secrets

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// shapes returns credentials in the formats of several services. Each has random parts.
func shapes() map[string]string {
	own := func() string { return strings.ReplaceAll(string(e2etest.NewCanary()), "-", "") }
	mixed := func() string { return base64.RawURLEncoding.EncodeToString([]byte(own())) }
	jwt := func(header string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+own()+`"}`)) + "." + mixed()
	}
	pem := func(kind string) string {
		return "-----BEGIN " + kind + "-----" + base64.StdEncoding.EncodeToString([]byte(own()+own())) + "-----END " + kind + "-----"
	}
	return map[string]string{
		"openai": "sk-proj-" + mixed(), "anthropic": "sk-ant-api03-" + mixed(), "stripe-live": "sk_live_" + own(), "stripe-restricted": "rk_live_" + own(),
		"stripe-webhook": "whsec_" + mixed(), "github-classic": "ghp_" + own(), "github-oauth": "gho_" + own(), "github-app": "ghs_" + own(),
		"github-refresh": "ghr_" + own(), "github-fine": "github_pat_" + own(), "gitlab": "glpat-" + mixed(), "slack-bot": "xoxb-1234567890-" + own(),
		"slack-user": "xoxp-1234567890-" + own(), "slack-app": "xapp-1-A0-" + own(), "aws-secret": base64.StdEncoding.EncodeToString([]byte(own())),
		"aws-session": "IQoJb3JpZ2luX2Vj" + base64.StdEncoding.EncodeToString([]byte(own())), "google-key": "AIza" + mixed(), "google-oauth": "ya29." + mixed(),
		"google-refresh": "1//0" + mixed(), "azure-sas": "sv=2026-01-01&sig=" + base64.StdEncoding.EncodeToString([]byte(own())) + "%3D",
		"azure-key": base64.StdEncoding.EncodeToString([]byte(own()+own())) + "==", "twilio": "SK" + hex.EncodeToString([]byte(own())),
		"sendgrid": "SG." + mixed() + "." + mixed(), "mailgun": "key-" + own(), "npm": "npm_" + own(), "pypi": "pypi-AgEIcHlwaS5vcmc" + mixed(),
		"docker": "dckr_pat_" + mixed(), "heroku": "HRKU-" + own(), "digitalocean": "dop_v1_" + hex.EncodeToString([]byte(own())),
		"databricks": "dapi" + hex.EncodeToString([]byte(own())), "linear": "lin_api_" + own(), "notion": "secret_" + own(), "telegram": "123456789:AA" + mixed(),
		"discord": mixed() + "." + own()[:6] + "." + mixed(), "hashicorp-vault": "hvs." + mixed(), "jwt-eddsa": jwt(`{"alg":"EdDSA"}`), "jwt-rs256": jwt(`{"alg":"RS256","typ":"JWT"}`),
		"pem-pkcs8": pem("PRIVATE KEY"), "pem-rsa": pem("RSA PRIVATE KEY"), "pem-ec": pem("EC PRIVATE KEY"), "openssh": pem("OPENSSH PRIVATE KEY"),
		"postgres-url": "postgres://svc:" + own() + "@db.internal:5432/app?sslmode=require", "mongo-url": "mongodb+srv://svc:" + own() + "@c0.example.net/app",
		"redis-url": "rediss://:" + own() + "@cache:6380/0", "cookie": "session=" + mixed() + "; Path=/; HttpOnly", "password": `p@ss "w0rd" <` + own() + `> & \ü`,
		"uuid": "8f14e45f-" + own(), "age": "AGE-SECRET-KEY-1" + strings.ToUpper(own()),
	}
}

// echoing returns a service that returns the credential of a request in every part of its answer.
func echoing(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("X-Echo", token)
		w.Header().Set("Set-Cookie", "t="+base64.StdEncoding.EncodeToString([]byte(token)))
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://127.0.0.1:1/?access_token="+hex.EncodeToString([]byte(token)), http.StatusFound)
		case "/broken":
			http.Error(w, "no luck with "+token, http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, "you are "+token)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// leakyTool returns a tool that leaks its credential in the way that its argument says.
func leakyTool(s *httptest.Server) e2etest.Run {
	return func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		secret, err := capability.AuthKey.From(call).AccessToken(ctx, call.Context.ConnectionID)
		if err != nil {
			return e2etest.Out{}, err
		}
		token := string(secret.Reveal())
		client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
		if err != nil {
			return e2etest.Out{}, err
		}
		get := func(path string) (string, http.Header, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
			if err != nil {
				return "", nil, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return "", nil, err
			}
			body, err := io.ReadAll(resp.Body)
			return string(body), resp.Header, errors.Join(err, resp.Body.Close())
		}
		switch in.Text {
		case "output":
			return e2etest.Out{Text: "it is " + token}, nil
		case "output-base64":
			return e2etest.Out{Text: "it is " + base64.StdEncoding.EncodeToString([]byte("x"+token+"y"))}, nil
		case "output-hex":
			return e2etest.Out{Text: hex.EncodeToString([]byte(token))}, nil
		case "output-json":
			inner, err := json.Marshal(map[string]string{"key": token})
			return e2etest.Out{Text: string(inner)}, err
		case "output-reversed":
			turned := []byte(token)
			slices.Reverse(turned)
			return e2etest.Out{Text: string(turned)}, nil
		case "body":
			body, _, err := get("/")
			return e2etest.Out{Text: body}, err
		case "header":
			_, header, err := get("/")
			return e2etest.Out{Text: fmt.Sprint(header)}, err
		case "error":
			return e2etest.Out{}, toolspec.Safef("refused %s", token)
		case "error-wrapped":
			return e2etest.Out{}, fmt.Errorf("at %s: %w", token, errors.New("refused"))
		case "error-body":
			body, _, err := get("/broken")
			return e2etest.Out{}, errors.Join(err, toolspec.Safef("the service said %s", body))
		case "redirect":
			_, _, err := get("/redirect")
			return e2etest.Out{}, toolspec.Safef("failed: %w", err)
		case "busy":
			return e2etest.Out{}, toolspec.RetryAfter(time.Millisecond, "used up "+token)
		case "panic":
			panic("lost " + token)
		case "panic-error":
			panic(fmt.Errorf("lost %s", token))
		case "progress":
			capability.ProgressKey.From(call).Report(ctx, toolspec.Progress{Text: "at " + token})
			return e2etest.Out{Text: "done"}, nil
		case "log":
			call.Logger.WarnContext(ctx, "used", "at "+token, 1, "token", token, "list", []string{token}, "error", errors.New(token))
			return e2etest.Out{Text: "done"}, nil
		}
		return e2etest.Out{}, fmt.Errorf("no carrier %q", in.Text)
	}
}

var carriers = []string{
	"output", "output-base64", "output-hex", "output-json", "output-reversed", "body", "header", "error", "error-wrapped", "error-body", "redirect", "busy",
	"panic", "panic-error", "progress", "log",
}

// TestCredentialsStayInside: whatever a tool does with the credential of its connection, and whatever the format of the credential, it is in no history, row,
// log or output of the program (faults 49, 50; RD-08, RD-09; NO_SECRETS_IN_CONTEXT). The world searches for it at its end, and TestWhatIsPlantedIsFound
// tests that search.
func TestCredentialsStayInside(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), echoing(t)
	p := (&e2etest.Service{Server: s}).Provider()
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__leak", leakyTool(s), e2etest.Connected, e2etest.Idempotent, e2etest.Attempts(1),
		func(d *toolspec.Definition) {
			d.Capabilities = []toolspec.CapabilityName{capability.ClientsKey.Name(), capability.AuthKey.Name(), capability.ProgressKey.Name()}
		})))
	all := shapes()
	if len(all) < 40 {
		t.Fatalf("%d shapes", len(all))
	}
	var calls []*pawl.Call
	turn := 0
	for shape, token := range all {
		v.Add(shape, p, token)
		v.Grant(shape, e2etest.Actor)
		// Each format is tested with three of the carriers in turn, so that every carrier gets many formats.
		for range 3 {
			carrier := carriers[turn%len(carriers)]
			turn++
			calls = append(calls, w.Start(e2etest.Over(e2etest.Invocation(shape+"."+carrier, "test__leak", fmt.Sprintf(`{"text":%q}`, carrier)),
				shape)))
		}
	}
	codes := map[toolspec.Code]int{}
	for _, call := range calls {
		r := w.Result(call)
		codes[r.ErrorCode]++
		shown, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if found := w.Secrets.Find(shown); len(found) > 0 {
			t.Errorf("%s: the result holds %v", r.ToolCallID, found)
		}
	}
	t.Logf("%d calls ended so: %v", len(calls), codes)
	if codes[""] < len(all) || codes[toolspec.CodeExecution] < len(all) || codes[toolspec.CodePolicyDenied]+codes[toolspec.CodeNeedsReauth] > 0 {
		t.Errorf("the tool did not get as far as to leak: %v", codes)
	}
	// On a busy machine the answer to a lease may be lost, and the lease is taken again. So the calls are counted, and not the leases.
	if used := e2etest.Scalar[int](w, `SELECT count(DISTINCT invocation_id)::int FROM events WHERE kind = 'connection_used'`); used != len(calls) {
		t.Errorf("leases for %d of %d calls", used, len(calls))
	}
	said := w.PawlCLI("list --limit 500", "show "+calls[0].InvocationID, "show "+calls[1].InvocationID+" --json",
		"show "+calls[2].InvocationID+" --json")
	if found := w.Secrets.FindString(strings.Join(said, "\n")); len(found) > 0 {
		t.Errorf("the program prints %v", found)
	}
}
