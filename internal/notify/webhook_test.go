package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// secret is that of the examples of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func parse(t *testing.T, text string) Secrets {
	t.Helper()
	s, err := ParseSecrets(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSignature is the published vector.
func TestSignature(t *testing.T) {
	t.Parallel()
	at := time.Unix(1614265330, 0)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := parse(t, secret).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	two := parse(t, "\n"+secret+"\n"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))+" ")
	if got := strings.Fields(two.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))); len(got) != 2 || got[0] != want || got[1] == want {
		t.Errorf("of two secrets: %v", got)
	}
}

func TestParseSecretsRefuses(t *testing.T) {
	t.Parallel()
	short, long := base64.StdEncoding.EncodeToString(make([]byte, 23)), base64.StdEncoding.EncodeToString(make([]byte, 65))
	for name, text := range map[string]string{
		"nothing": " \n", "short": short, "long": "whsec_" + long, "a password": "whsec_hunter2-hunter2-hunter2-hunter2!", "too many": strings.Repeat(secret+" ", 5),
	} {
		if _, err := ParseSecrets(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsDoNotShowThemselves(t *testing.T) {
	t.Parallel()
	s := parse(t, secret)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secrets", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secrets", s)
	marshalled, err := json.Marshal(map[string]any{"secrets": s})
	if err != nil {
		t.Error(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %x %s %s", s, s, s, s, s.String(), marshalled, log.String())
	for _, hidden := range []string{"MfKQ9r8", fmt.Sprintf("%d", s.keys[0]), fmt.Sprintf("%x", s.keys[0])} {
		if strings.Contains(shown, hidden) {
			t.Errorf("shown: %s", shown)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	s := parse(t, secret)
	for address, fine := range map[string]bool{
		"https://hooks.example.com/pawl?to=ops": true, "http://localhost:8080/x": true, "http://127.0.0.1/x": true, "http://[::1]:1/": true,
		"http://hooks.example.com/": false, "http://localhost.example.com/": false, "http://10.0.0.1/": false, "ftp://localhost/": false, "https://": false,
		"https:hooks.example.com": false, "hooks.example.com": false, "https://ann:canary@hooks.example.com/": false, "https://h/#canary": false, "https://canary h/": false,
	} {
		w, err := NewWebhook(address, s)
		if (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%v", err)
		}
		if w != nil && strings.Contains(w.Host(), "ops") {
			t.Errorf("host %s", w.Host())
		}
	}
	if _, err := NewWebhook("https://h/", Secrets{}); err == nil {
		t.Error("without a secret")
	}
}

// verify is a receiver's own, by the letter of the specification.
func verify(t *testing.T, r *http.Request, text []byte, secret string) bool {
	t.Helper()
	seconds, err := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > 5*time.Minute || age < -time.Minute {
		t.Errorf("signed at %q", r.Header.Get("Webhook-Timestamp"))
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + string(text)))
	for _, signature := range strings.Fields(r.Header.Get("Webhook-Signature")) {
		if given, ok := strings.CutPrefix(signature, "v1,"); ok && hmac.Equal([]byte(given), []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))) {
			return true
		}
	}
	return false
}

func notice() toolspec.Notice {
	return toolspec.Notice{
		ID: "0_1_escalated_1", Kind: toolspec.NoticeEscalated, At: time.Date(2026, 11, 21, 10, 0, 0, 5000, time.FixedZone("", 3600)),
		TenantID: "acme", InvocationID: "0", WorkflowID: "tool:acme:r:c", EscalatedTo: "role:security",
		Approval: toolspec.ApprovalView{
			ApprovalID: "0.1", ToolID: "mail__send", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk, Args: []byte(`{"to":"***"}`), Digest: "d",
			RequestedBy: "user:ann", Approvers: "user:lead but user:ann", ExpiresAtMs: 9, Escalations: []toolspec.Escalation{{AtMs: 5, Approvers: "role:security"}},
		},
	}
}

func TestWebhookPosts(t *testing.T) {
	t.Parallel()
	const other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	var texts []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.URL.RequestURI() != "/hook?a=b" {
			t.Errorf("%s %s %v, %v", r.Method, r.URL, r.Header, err)
		}
		if !verify(t, r, text, secret) || verify(t, r, text, other) || verify(t, r, append(text, ' '), secret) {
			t.Error("the signature does not hold, or holds for anything")
		}
		r.Header.Set("Webhook-Id", "another")
		if verify(t, r, text, secret) {
			t.Error("the signature holds for another id")
		}
		texts = append(texts, string(text))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	w, err := NewWebhook(server.URL+"/hook?a=b", parse(t, secret))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	again := notice()
	again.Attempts = 2
	for _, n := range []toolspec.Notice{notice(), again} {
		if err := w.Notify(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	const want = `{"type":"approval.escalated","timestamp":"2026-11-21T09:00:00.000005Z","data":{"tenantId":"acme","invocationId":"0","workflowId":"tool:acme:r:c",` +
		`"approval":{"approvalId":"0.1","toolId":"mail__send","effect":"external_side_effect","risk":"high","args":{"to":"***"},"digest":"d","requestedBy":"user:ann",` +
		`"approvers":"user:lead but user:ann","expiresAtMs":9,"escalations":[{"atMs":5,"approvers":"role:security"}]},"escalatedTo":"role:security"}}`
	if len(texts) != 2 || texts[0] != want || texts[1] != want {
		t.Errorf("got  %q\nwant %s", texts, want)
	}
}

// TestBodiesAreSmall, whatever the arguments and however many may decide.
func TestBodiesAreSmall(t *testing.T) {
	t.Parallel()
	n := notice()
	n.Approval.Args = []byte(`{"text":"` + strings.Repeat("x", maxArgs) + `"}`)
	n.Approval.Approvers, n.EscalatedTo, n.Reason = strings.Repeat("é", 60_000), strings.Repeat("é", 60_000), strings.Repeat("r", 2000)
	n.Approval.Escalations[0].Approvers = n.EscalatedTo
	text, err := encode(n)
	if err != nil || len(text) > 32<<10 || !strings.Contains(string(text), `"argsOmitted":true`) || strings.Contains(string(text), "xxx") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if len(n.Approval.Escalations[0].Approvers) != 120_000 {
		t.Error("the caller's notice was changed")
	}
}

// TestWebhookFails at whatever is no 2xx: it follows nobody, waits for no answer without end, and repeats nothing of what it is told.
func TestWebhookFails(t *testing.T) {
	t.Parallel()
	followed := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer elsewhere.Close()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			http.Error(w, "canary", http.StatusInternalServerError)
		case "/410":
			w.WriteHeader(http.StatusGone)
		case "/redirect":
			http.Redirect(w, r, elsewhere.URL+"/canary", http.StatusTemporaryRedirect)
		case "/hang":
			<-hang
		case "/broken":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	defer close(hang)
	for path, want := range map[string]string{
		"/500": "webhook: status 500", "/410": "webhook: status 410", "/redirect": "webhook: status 307", "/hang": "webhook: deadline", "/broken": "webhook: connection",
	} {
		w, err := NewWebhook(server.URL+path, parse(t, secret))
		if err != nil {
			t.Fatal(err)
		}
		timeout := time.Minute
		if path == "/hang" {
			timeout = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		var failed *Error
		if err := w.Notify(ctx, notice()); !errors.As(err, &failed) || failed.LogReason() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		cancel()
		w.Close()
	}
	if followed {
		t.Error("a redirection was followed")
	}
}

func TestLogHasNoArguments(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := notice()
	n.Decision, n.DecidedBy = toolspec.Deny, "user:bob"
	if err := NewLog(slog.New(slog.NewTextHandler(&log, nil))).Notify(t.Context(), n); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"kind=escalated", "approvalId=0.1", "escalatedTo=role:security", "decision=deny", "decidedBy=user:bob"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "***") {
		t.Error(log.String())
	}
}
