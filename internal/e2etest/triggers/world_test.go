package triggers

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/worker"
)

// triage is the document of a trigger of webhooks. Its secret is in the connection hook.
const triage = `name: triage
version: "1"
tenant: acme
actor: agent:e2etest
agent: helper
on: webhook
webhook: {secret: hook}
session: triage
tools: [test__echo]
prompt: "Look at issue {{issue.number}}: {{issue.title}}"
`

// world is the world of a test with a scripted model, the agent helper, a worker, and a secret for webhooks.
type world struct {
	*e2etest.World
	model  *modelserver.Server
	secret string
	server string
	serves *e2etest.Command
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: e2etest.NewWorld(t, e2etest.PlainPolicy)}
	w.model = modelserver.Serve(t, "openai", func(modelserver.Request) modelserver.Reply { return modelserver.Reply{Text: "done"} })
	v := e2etest.NewVault(w.World)
	c := v.Config()
	c.ModelURLs = []string{w.model.URL.String()}
	t.Cleanup(w.WorkWith(c, worker.Tools(e2etest.Tool("test__echo", e2etest.Echo))))
	if _, err := w.Store.ApplyAgent(t.Context(), agent.Document{
		Name: "helper", Version: "1", Instructions: "Help.", Tools: []string{"test__echo"},
		Model:  agent.Model{Format: "openai", Name: "model", URL: w.model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}, "e2etest"); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	w.secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	w.Secrets.Never("the secret of the webhook", []byte(w.secret))
	w.pawl(true, "", "connections", "add", "hook", "--provider", "webhook", "--secret-file", w.file("secret", w.secret), "--by", "user:root")
	return w
}

// file writes a file that only its owner may read.
func (w *world) file(name, text string) string {
	w.T.Helper()
	file := filepath.Join(w.T.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.T.Fatal(err)
	}
	return file
}

// pawl runs a command for the tenant acme, and fails unless it succeeds or fails as succeeds says and its output contains want.
func (w *world) pawl(succeeds bool, want string, args ...string) {
	w.T.Helper()
	c := w.Command(append(args, "--tenant", "acme")...)
	status := c.Wait()
	if text := strings.Join(strings.Fields(c.Out.String()+c.Err.String()), " "); (status == 0) != succeeds || !strings.Contains(text, want) {
		w.T.Errorf("pawl %s ends with %d and %s", strings.Join(args, " "), status, text)
	}
}

func (w *world) apply(document string) {
	w.T.Helper()
	w.pawl(true, "active", "trigger", "apply", w.file("trigger.yaml", document), "--as", "user:root")
}

var address = regexp.MustCompile(`webhooks are taken on (\S+);`)

// serve starts a server of webhooks.
func (w *world) serve() {
	w.T.Helper()
	w.serves = w.Command("serve", "--triggers", "--listen", "127.0.0.1:0")
	w.Until(func() bool { return address.MatchString(w.serves.Err.String()) }, "the server listens")
	w.server = "http://" + address.FindStringSubmatch(w.serves.Err.String())[1]
}

// request returns a signed webhook for the trigger acme/triage, which a test can change.
func (w *world) request(id string, at time.Time, body string) *http.Request {
	w.T.Helper()
	r, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.server+"/v1/triggers/acme/triage", bytes.NewReader([]byte(body)))
	if err != nil {
		w.T.Fatal(err)
	}
	hook, err := standardwebhooks.NewWebhook(w.secret)
	if err != nil {
		w.T.Fatal(err)
	}
	signature, err := hook.Sign(id, at, []byte(body))
	if err != nil {
		w.T.Fatal(err)
	}
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	r.Header.Set("webhook-signature", signature)
	return r
}

// send sends a request and returns the status of the answer, or 0 if there is none. It fails the test if the answer says something about the agent or the run.
func (w *world) send(r *http.Request) int {
	w.T.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	text := new(bytes.Buffer)
	_, _ = text.ReadFrom(answer.Body) // a server that is killed ends it early
	for _, never := range []string{"helper", "trigger-", "e2etest", "issue"} {
		if strings.Contains(text.String(), never) {
			w.T.Errorf("the answer has %q: %s", never, text)
		}
	}
	return answer.StatusCode
}

func (w *world) sends(want int, r *http.Request, what string) {
	w.T.Helper()
	if got := w.send(r); got != want {
		w.T.Errorf("%s: the status is %d, want %d; the server said %s", what, got, want, w.serves.Err)
	}
}

// runs returns the number of runs that have ended.
func (w *world) runs() int {
	w.T.Helper()
	return e2etest.Query[int](w.World, "SELECT count(*)::int FROM agent_runs WHERE ended_at IS NOT NULL")[0]
}

// event returns a body with the values that the prompt of triage uses.
func event(number int, title string) string {
	return fmt.Sprintf(`{"issue":{"number":%d,"title":%q}}`, number, title)
}
