package deploycheck

import (
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common/util"
)

// TestJobs: Prometheus sees the workers of two releases of one database, such as those of a pool, as one job.
func TestJobs(t *testing.T) {
	t.Parallel()
	jobOf := func(release string, change map[string]any) string {
		t.Helper()
		change["monitoring"] = util.CoalesceTables(map[string]any{"podMonitor": map[string]any{"enabled": true}}, change["monitoring"].(map[string]any))
		objects, err := renderAs(t, release, util.CoalesceTables(change, values(t, "minimal")))
		if err != nil {
			t.Fatal(err)
		}
		monitor, ok := objects["PodMonitor "+release+"-pawl"].(*monitoringv1.PodMonitor)
		if !ok {
			t.Fatalf("%s has no PodMonitor", release)
		}
		job := "pawl/" + monitor.Name // of the operator, which applies the relabelings of the endpoint after its own
		for _, r := range monitor.Spec.PodMetricsEndpoints[0].RelabelConfigs {
			if r.TargetLabel == "job" && r.Replacement != nil && len(r.SourceLabels) == 0 && r.Action == "" {
				job = *r.Replacement
			}
		}
		return job
	}
	shared := jobOf("prod", map[string]any{"monitoring": map[string]any{}})
	pool := jobOf("media", map[string]any{
		"config": map[string]any{"PAWL_POOL": "media"}, "monitoring": map[string]any{"podMonitor": map[string]any{"job": "pawl/prod-pawl"}},
	})
	if shared != pool || shared != "pawl/prod-pawl" {
		t.Errorf("the jobs are %s and %s", shared, pool)
	}
}
