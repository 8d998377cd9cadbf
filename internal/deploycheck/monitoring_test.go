package deploycheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"sigs.k8s.io/yaml"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(watched)})
}

// watchedPolicy lets one call at a time write. Calls of globex whose effect is unknown wait for a person.
const watchedPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 24h, allowUnsigned: true}
    limits:
      - {tool: test__write, concurrent: 1, then: wait}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 24h, parkUnknown: 1h, allowUnsigned: true}
`

// pace says how much faster the time of the rules runs, and how often Prometheus reads the workers.
type pace struct {
	faster int
	every  string
}

// Of these, quick makes 5 minutes less than 2 seconds, and steady 10 seconds: a rule that looks at 5 minutes needs several scrapes in them.
var (
	quick  = pace{faster: 180, every: "500ms"}
	steady = pace{faster: 30, every: "2s"}
)

// TestMonitoring: a real Prometheus reads two real workers with the shipped configuration and rules, whose time runs faster. Under load no query of
// the board is empty, and `pawl report` shows all of them. Then faults happen at the same time: each fires its alert, and when the fault
// is over, the alert is. TestMonitoringOfModels has the fault of one more alert.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	program := needProgram(t, "prometheus")
	w := newWatchedWorld(t)
	database := w.Proxied()
	first, second := devstacktest.FreeAddress(t), devstacktest.FreeAddress(t)
	model := modelserver.Serve(t, "anthropic", modelserver.Script(modelserver.Reply{Text: "done"}))
	w.applyHelper(model)
	serve := func(at, database string, more ...string) *exec.Cmd {
		return w.ServeInChildWith(append([]string{
			"PAWL_HEALTH_LISTEN=" + at, "PAWL_SWEEP_EVERY=1s", "PAWL_DATABASE_URL=" + database, "PAWL_DATABASE_CONNECTIONS=4", "PAWL_WORKSPACE=" + w.Workspace,
			"PAWL_NOTIFY_URL=" + w.notices.URL, "PAWL_NOTIFY_SECRET=" + noticeSecret,
			"PAWL_MODEL_URLS=" + model.URL.String(),
		}, more...)...)
	}
	// The worker that is to die runs alone at first, so that it has these calls.
	dying := serve(second, w.Database)
	w.entered("lost", "test__send", "deaf")
	for range 8 {
		w.entered("read", "test__read", "deaf")
	}
	surviving := serve(first, w.Config().DatabaseURL)
	p := startPrometheus(t, program, quick, first, second)

	l := &load{w: w.World}
	var empty []string
	w.Until(func() bool {
		l.batch()
		w.fetched()
		w.RunResult(w.asks())
		empty = p.emptyPanels(t)
		return len(empty) == 0
	}, "every query of the board has an answer")
	page := filepath.Join(t.TempDir(), "report.html")
	w.PawlCLI("report --prometheus " + p.at + " --for 20s -o " + page)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range readBoard(t).panels() {
		if !bytes.Contains(text, []byte("<h3>"+panel.Title+"</h3>")) {
			t.Errorf("the report does not have %q", panel.Title)
		}
	}
	if n := bytes.Count(text, []byte("No data in this time.")) + bytes.Count(text, []byte(`class="fault`)); n > 0 {
		t.Errorf("%d panels of the report are empty or have a fault\n%s", n, text)
	}
	if keep := os.Getenv("PAWL_TEST_REPORT"); keep != "" { // to look at
		if err := os.WriteFile(keep, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	solve := w.stick()
	// A worker dies with calls. Another call waits for a person to say what happened. Requests and their notices are old. The sweeper is paused. Answers
	// cannot be made safe, a secret is in a history, a call keeps the only place, and nobody knows a type of workflows.
	e2etest.Kill(dying)
	doubt := w.doubt()
	w.deaf.Store(true)
	asked := w.call("asked", "test__asked", "")
	w.Waiting(asked.Identity().WorkflowID())
	e2etest.Query[int](w.World, `UPDATE approvals SET created_at = now() - interval '5 hours' WHERE state = 'open' AND parked = '' RETURNING 1`)
	e2etest.Query[int](w.World, `UPDATE notices SET at = at - interval '5 hours' RETURNING 1`)
	schedule := w.Temporal.ScheduleClient().GetHandle(t.Context(), "pawl-sweep")
	if err := schedule.Pause(t.Context(), client.SchedulePauseOptions{}); err != nil {
		t.Fatal(err)
	}
	w.call("broken", "test__broken", "")
	remove := w.leak()
	keeps := w.entered("keeps", "test__write", "hang")
	var unknown []string
	faults := []string{
		"PawlWorkerAway", "PawlOutcomeUnknown", "PawlOutcomeWaits", "PawlAttemptsLost", "PawlCallsBroken", "PawlApprovalOld", "PawlSweeperStopped", "PawlBacklogOld",
		"PawlCapacityWaits", "PawlWorkflowTasksFail", "PawlSecretFound",
	}
	p.fire(t, w.World, every(func() {
		w.call("waits", "test__write", "")
		id := fmt.Sprint("unknown-", len(unknown))
		if _, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: toolspec.TaskQueue}, "Unknown"); err != nil {
			t.Fatal(err)
		}
		unknown = append(unknown, id)
	}), faults...)
	if err := schedule.Unpause(t.Context(), client.ScheduleUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	remove()
	w.deaf.Store(false)
	e2etest.Query[int](w.World, `UPDATE notice_deliveries SET next_at = now() WHERE sent_at IS NULL RETURNING 1`)
	if err := w.Temporal.CancelWorkflow(t.Context(), keeps.Identity().WorkflowID(), ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range unknown {
		if err := w.Temporal.TerminateWorkflow(t.Context(), id, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	id := doubt.Identity().WorkflowID()
	if answer := w.Decide(id, toolspec.Decision{ApprovalID: w.Waiting(id).ApprovalID, Decision: toolspec.SettleOK, Approver: e2etest.Ann}); !answer.Counted {
		t.Fatalf("nobody says what happened: %+v", answer)
	}
	w.Approve(asked.Identity().WorkflowID())

	// The worker comes back without its key. Postgres refuses new partitions. A closing hook does not end since long ago.
	dying = serve(second, w.Database, "PAWL_KEYRING_FILE="+w.misplace())
	p.clear(t, w.World, faults[:len(faults)-1]...) // a secret that was found is shown for two hours
	allow := w.forbidPartitions()
	faults = []string{"PawlWorkerDegraded", "PawlConnectionsFail", "PawlRetentionFails", "PawlEndingsWait"}
	p.fire(t, w.World, every(func() {
		w.n++
		w.Start(e2etest.Over(e2etest.Invocation(fmt.Sprint("fetch-", w.n), "test__fetch", fmt.Sprintf(`{"text":%q}`, w.service.URL)), "c1"))
	}), faults...)
	allow()
	solve()
	e2etest.Kill(dying)
	dying = serve(second, w.Database)
	p.clear(t, w.World, faults...)

	// One of two workers loses its database.
	e2etest.SetProxy(t, database, tcpproxy.Refuse)
	database.Cut()
	w.Apply(strings.Replace(watchedPolicy, "24h", "23h", 1)) // which this worker does not hear of
	p.fire(t, w.World, func() {}, "PawlWorkerNotReady", "PawlPoliciesDiffer")
	e2etest.SetProxy(t, database, tcpproxy.Pass)
	p.clear(t, w.World, "PawlWorkerNotReady", "PawlPoliciesDiffer")

	e2etest.Kill(dying)
	e2etest.Kill(surviving)
	p.fire(t, w.World, func() {}, "PawlNoWorker")
	serve(second, w.Database)
	p.clear(t, w.World, "PawlNoWorker", "PawlSecretFound")
	if len(p.broken) > 0 {
		t.Errorf("annotations of alerts are faulty: %q", p.broken)
	}
}

// load is what the workers do.
type load struct {
	w *e2etest.World
	n int
}

// batch makes calls of several tools and waits for their ends: reads, writes that wait for each other, and one for which a person is asked.
func (l *load) batch() {
	l.n++
	dir := l.w.T.TempDir()
	var calls []*pawl.Call
	for i, toolID := range []string{"test__read", "test__fast", "test__write", "test__write", "test__write", "test__send"} {
		id := fmt.Sprintf("load-%d-%d", l.n, i)
		calls = append(calls, l.w.Start(e2etest.Invocation(id, toolID, fmt.Sprintf(`{"text":%q}`, filepath.Join(dir, id)))))
	}
	asked := e2etest.Invocation(fmt.Sprintf("load-%d", l.n), "test__asked", fmt.Sprintf(`{"text":%q}`, filepath.Join(dir, "asked")))
	calls = append(calls, l.w.Start(asked))
	l.w.Approve(asked.Identity().WorkflowID())
	for _, call := range calls {
		l.w.Result(call)
	}
}

// scraper is a running Prometheus.
type scraper struct {
	at string
	// broken has annotations that Prometheus could not make.
	broken []string
}

var span = regexp.MustCompile(`(\[|offset |for: )(\d+)([mhd])`)

// hastened returns rules whose time runs faster.
func hastened(rules string, faster int) string {
	return span.ReplaceAllStringFunc(rules, func(text string) string {
		m := span.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s%dms", m[1], n*map[string]int{"m": 60_000, "h": 3_600_000, "d": 86_400_000}[m[3]]/faster)
	})
}

// startPrometheus starts a server with the shipped configuration and rules, which reads the given workers.
func startPrometheus(t *testing.T, program string, speed pace, targets ...string) *scraper {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/monitoring/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		t.Fatal(err)
	}
	global, _ := config["global"].(map[string]any)
	global["scrape_interval"], global["evaluation_interval"] = speed.every, speed.every
	if files, _ := config["rule_files"].([]any); len(files) != 1 || files[0] != "/etc/prometheus/rules.yml" {
		t.Fatalf("rule_files: %v", config["rule_files"])
	}
	config["rule_files"] = []string{"rules.yml"}
	jobs, _ := config["scrape_configs"].([]any)
	job, _ := jobs[0].(map[string]any)
	delete(job, "dns_sd_configs")
	job["static_configs"] = []any{map[string]any{"targets": targets}}
	if text, err = yaml.Marshal(config); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"prometheus.yml": string(text), "rules.yml": hastened(string(rules), speed.faster)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := devstacktest.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus says\n%s", &log)
		}
	})
	p := &scraper{at: "http://" + at}
	if !e2etest.Eventually(t.Context(), func() bool { return p.get("/-/ready", nil) == nil }) {
		t.Fatal("Prometheus does not start")
	}
	return p
}

// get asks the API.
func (p *scraper) get(path string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(p.at + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", answer.Status, body)
	case into == nil:
		return nil
	}
	return json.Unmarshal(body, into)
}

// emptyPanels returns the panels of the board of which a query has no answer.
func (p *scraper) emptyPanels(t *testing.T) (empty []string) {
	t.Helper()
	for _, panel := range readBoard(t).panels() {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$job", "pawl", "$__rate_interval", "5s").Replace(target.Expr)
			var found struct {
				Data struct{ Result []struct{ Value []any } }
			}
			if err := p.get("/api/v1/query?query="+url.QueryEscape(expr), &found); err != nil {
				t.Fatalf("%s: %s: %v", panel.Title, expr, err)
			}
			if !slices.ContainsFunc(found.Data.Result, func(r struct{ Value []any }) bool { return len(r.Value) == 2 && r.Value[1] != "NaN" }) {
				empty = append(empty, panel.Title)
			}
		}
	}
	return empty
}

type alertState struct {
	State               string
	Labels, Annotations map[string]string
}

func (p *scraper) alerts() []alertState {
	var found struct{ Data struct{ Alerts []alertState } }
	if p.get("/api/v1/alerts", &found) != nil {
		return nil
	}
	for _, a := range found.Data.Alerts {
		for _, text := range a.Annotations {
			if strings.Contains(text, "error") {
				p.broken = append(p.broken, text)
			}
		}
	}
	return found.Data.Alerts
}

// firing returns the names of the alerts that fire.
func (p *scraper) firing() map[string]bool {
	names := map[string]bool{}
	for _, a := range p.alerts() {
		if a.State == "firing" {
			names[a.Labels["alertname"]] = true
		}
	}
	return names
}

// fire waits until all of the alerts have fired, and calls meanwhile again and again.
func (p *scraper) fire(t *testing.T, w *e2etest.World, meanwhile func(), alerts ...string) {
	t.Helper()
	left := slices.Clone(alerts)
	began := time.Now()
	w.Until(func() bool {
		meanwhile()
		firing := p.firing()
		left = slices.DeleteFunc(left, func(name string) bool {
			if firing[name] {
				t.Logf("%s fires after %s", name, time.Since(began).Round(time.Second/10))
			}
			return firing[name]
		})
		return len(left) == 0
	}, fmt.Sprintf("%v fire", alerts))
}

// clear waits until none of the alerts fires.
func (p *scraper) clear(t *testing.T, w *e2etest.World, alerts ...string) {
	t.Helper()
	began := time.Now()
	w.Until(func() bool {
		firing := p.firing()
		return !slices.ContainsFunc(alerts, func(name string) bool { return firing[name] })
	}, fmt.Sprintf("%v are over", alerts))
	t.Logf("%v are over after %s", alerts, time.Since(began).Round(time.Second/10))
}
