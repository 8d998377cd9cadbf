package deploycheck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const rulesFile = "../../deploy/monitoring/rules.yml"

// alertCase has the series of a fault, a value for each minute, and the minutes in which the alert of the fault is judged. Before the fault
// and after it the alert does not fire.
type alertCase struct {
	alert                string
	series               []string // name{labels} values
	before, fires, after int
}

// worker is a series of the worker a of the job pawl.
func workerSeries(metric, labels, values string) string {
	return metric + `{job="pawl",instance="a"` + strings.TrimSuffix(","+labels, ",") + `} ` + values
}

var alertCases = []alertCase{
	{"PawlNoWorker", []string{workerSeries("pawl_db_pool_max", "", "10x10 stale _x20 10x20")}, 5, 16, 40},
	{"PawlNoWorker", []string{`pawl_db_pool_max{job="other"} 5x60`, workerSeries("pawl_db_pool_max", "", "10x10 stale _x20 10x20")}, 5, 16, 40},
	{"PawlNoWorker", []string{workerSeries("pawl_db_pool_max", "", "_x20 10x20")}, -1, 5, 30},
	{"PawlWorkerAway", []string{workerSeries("pawl_db_pool_max", "", "10x10 stale _x20 10x20"), workerSeries("up", "", "1x10 0x19 1x20"), `up{job="node",instance="b"} 0x60`}, 5, 25, 40},
	{"PawlWorkerNotReady", []string{workerSeries("pawl_check", `check="database"`, "0x10 2x10 0x20")}, 5, 18, 25},
	{"PawlWorkerDegraded", []string{workerSeries("pawl_check", `check="sources"`, "0x10 1x20 0x20")}, 5, 28, 35},
	{"PawlWorkersBusy", []string{
		workerSeries("temporal_workflow_task_schedule_to_start_latency_seconds_bucket", `le="1"`, "0+60x10 600x30 600+60x30"),
		workerSeries("temporal_workflow_task_schedule_to_start_latency_seconds_bucket", `le="5"`, "0+60x10 600+60x30 2400+60x30"),
		workerSeries("temporal_workflow_task_schedule_to_start_latency_seconds_bucket", `le="+Inf"`, "0+60x10 600+60x30 2400+60x30"),
	}, 8, 38, 60},
	{"PawlPoliciesDiffer", []string{
		workerSeries("pawl_policy_active", `digest="1"`, "1x10 _x60"), workerSeries("pawl_policy_active", `digest="2"`, "_x10 1x60"),
		`pawl_policy_active{job="pawl",instance="b",digest="1"} 1x30 _x20`, `pawl_policy_active{job="pawl",instance="b",digest="2"} _x30 1x20`,
	}, 5, 28, 40},
	// The first of a worker, and one more.
	{"PawlOutcomeUnknown", []string{workerSeries("pawl_calls_total", `code="outcome_unknown",tool="core__x"`, "_x10 1x40")}, 5, 12, 40},
	{"PawlOutcomeUnknown", []string{workerSeries("pawl_calls_total", `code="outcome_unknown",tool="core__x"`, "3x30 4x40")}, 25, 34, 55},
	{"PawlOutcomeUnknown", []string{workerSeries("pawl_swept_total", `code="outcome_unknown"`, "0x30 1x40")}, 25, 34, 55},
	// Prometheus was away: the series is not new.
	{"PawlOutcomeUnknown", []string{
		workerSeries("pawl_calls_total", `code="outcome_unknown",tool="core__x"`, "3x10 _x40 3x40"), workerSeries("pawl_swept_total", `code="outcome_unknown"`, "0x100 1x40"),
	}, 52, 104, 130},
	{"PawlOutcomeWaits", []string{workerSeries("pawl_waiting", `kind="outcome_unknown"`, "0x10 2x20 0x20")}, 5, 28, 35},
	{"PawlAttemptsLost", []string{workerSeries("pawl_claims_lost_total", "", "0x10 8x40")}, 5, 14, 40},
	{"PawlCallsBroken", []string{workerSeries("pawl_calls_total", `code="internal",tool="core__x"`, "_x10 2x40")}, 5, 12, 40},
	{"PawlStepsFail", []string{workerSeries("pawl_step_failures_total", `step="settle"`, "0x10 0+5x20 100x30")}, 5, 28, 45},
	{"PawlWorkflowTasksFail", []string{workerSeries("temporal_workflow_task_execution_failed_total", `workflow_type="InvokeTool"`, "0x10 0+1x20 20x40")}, 5, 25, 55},
	{"PawlCapacityWaits", []string{workerSeries("pawl_capacity_waits_total", `step="willAcquireSemaphore"`, "0x10 0+4x40 160x40")}, 5, 48, 75},
	{"PawlApprovalOld", []string{workerSeries("pawl_waiting_age_seconds", `kind="approval"`, "14000+60x20 0x20")}, 5, 15, 30},
	{"PawlBacklogOld", []string{workerSeries("pawl_waiting_age_seconds", `kind="outbox"`, "0+60x20 0x20")}, 5, 15, 30},
	{"PawlBacklogOld", []string{workerSeries("pawl_waiting_age_seconds", `kind="notice"`, "0+60x30 0x20")}, 12, 25, 40},
	{"PawlEndingsWait", []string{workerSeries("pawl_waiting", `kind="ending"`, "0x10 2x150 0x20")}, 100, 140, 170},
	{"PawlSweeperStopped", []string{workerSeries("pawl_db_pool_max", "", "10x100"), workerSeries("pawl_sweeps_total", "", "0+1x30 30x40 30+1x30")}, 25, 66, 90},
	// Sweeps that are the first of their workers count.
	{"PawlSweeperStopped", []string{
		`pawl_db_pool_max{job="pawl",instance="b"} _x60 10x90`, workerSeries("pawl_db_pool_max", "", "10x60 _x90"),
		workerSeries("pawl_sweeps_total", "", "_x5 1x55 _x100"), `pawl_sweeps_total{job="pawl",instance="b"} _x70 1+1x80`,
	}, 18, 45, 80},
	{"PawlRetentionFails", []string{workerSeries("pawl_step_failures_total", `step="dropExpired"`, "0x10 0+1x10 10x60")}, 10, 22, 60},
	{"PawlSecretFound", []string{workerSeries("temporal_workflow_failed_total", `workflow_type="VerifyHistory"`, "_x10 1x200")}, 5, 30, 150},
	{"PawlPoolExhausted", []string{workerSeries("pawl_db_pool_wait_duration_seconds_total", "", "0x10 0+120x20 2400x20")}, 5, 28, 45},
	{"PawlModelsFail", []string{
		workerSeries("pawl_agent_rounds_total", `outcome="ok"`, "0+60x10 600x30 600+60x30"), workerSeries("pawl_agent_rounds_total", `outcome="fault"`, "0x10 0+60x30 1800x30"),
	}, 8, 38, 65},
	{"PawlConnectionsFail", []string{workerSeries("pawl_broker_leases_total", `outcome="error"`, "0x10 0+2x30 60x30")}, 5, 38, 60},
	{"PawlConnectionsFail", []string{workerSeries("pawl_broker_refreshes_total", `outcome="failed"`, "0x10 0+2x30 60x30")}, 5, 38, 60},
}

type alertRule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

// TestAlerts: each alert fires while the series have its fault, and at no time before it and after it. docs/alerts.md has a section for each.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool := needProgram(t, "promtool")
	var file struct{ Groups []struct{ Rules []alertRule } }
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?ms)^## (Pawl\w+)$(.*?)(?:\z|^## )`)
	var documented []string
	for rest := string(page); ; {
		at := sections.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		name, body := rest[at[2]:at[3]], rest[at[4]:at[5]]
		documented = append(documented, name)
		for _, part := range []string{"**Means**", "**Look at**", "**Do**"} {
			if !strings.Contains(body, part) {
				t.Errorf("docs/alerts.md: %s has no %s", name, part)
			}
		}
		rest = rest[at[5]:]
	}
	var names []string
	for _, r := range file.Groups[0].Rules {
		names = append(names, r.Alert)
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		if want := "/docs/alerts.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s has the runbook %s", r.Alert, r.Annotations["runbook_url"])
		}
		if !slices.ContainsFunc(alertCases, func(c alertCase) bool { return c.alert == r.Alert }) {
			t.Errorf("%s is not tested", r.Alert)
		}
		knownMetrics(t, r.Alert, r.Expr)
	}
	if !slices.Equal(names, documented) {
		t.Errorf("the alerts are %v, docs/alerts.md has %v", names, documented)
	}

	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n", rules)
	for _, c := range alertCases {
		fmt.Fprintf(&b, "- interval: 1m\n  name: %s\n  input_series:\n", c.alert)
		for _, s := range c.series {
			name, values, _ := strings.Cut(s, "} ")
			fmt.Fprintf(&b, "  - {series: '%s}', values: '%s'}\n", name, values)
		}
		fmt.Fprintf(&b, "  promql_expr_test:\n")
		for minute, firing := range map[int]bool{c.before: false, c.fires: true, c.after: false} {
			if minute < 0 {
				continue
			}
			want := "[]"
			if firing {
				want = "[{labels: '{}', value: 1}]"
			}
			fmt.Fprintf(&b, "  - {expr: 'count(ALERTS{alertname=\"%s\",alertstate=\"firing\"})', eval_time: %dm, exp_samples: %s}\n", c.alert, minute, want)
		}
	}
	tests := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(tests, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", tests}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// needProgram returns a program of Prometheus. Without it the test is skipped, and in CI it fails.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	switch {
	case err == nil:
		return program
	case os.Getenv("CI") != "":
		t.Fatalf("there is no %s: apt-get install prometheus", name)
	}
	t.Skipf("there is no %s: apt-get install prometheus", name)
	return ""
}

var (
	metricName = regexp.MustCompile(`\b(?:pawl|temporal|process)_[a-z_]+`)
	pageMetric = regexp.MustCompile("(?m)^\\| `pawl\\.[a-z._]+` \\| `(pawl_[a-z_]+)` \\|([^|]*)\\|")
	selector   = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
)

// knownMetrics checks that docs/metrics.md has the metrics of a query and its labels.
func knownMetrics(t *testing.T, where, expr string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics, labels := map[string]bool{}, map[string]bool{"job": true, "instance": true, "le": true, "workflow_type": true, "worker_type": true}
	for _, row := range pageMetric.FindAllStringSubmatch(string(page), -1) {
		metrics[row[1]] = true
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			labels[label[1]] = true
		}
	}
	for _, name := range metricName.FindAllString(expr, -1) {
		if strings.HasPrefix(name, "pawl_") && !metrics[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("%s: docs/metrics.md does not have %s", where, name)
		}
	}
	var used []string
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		used = append(used, m[1])
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		used = append(used, strings.Split(m[1], ", ")...)
	}
	for _, label := range used {
		if !labels[label] {
			t.Errorf("%s: docs/metrics.md does not have the label %s", where, label)
		}
	}
}
