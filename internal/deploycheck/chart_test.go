package deploycheck

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	psa "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/pawl-run/pawl/worker"
)

const chartDir = "../../deploy/helm/pawl"

func init() {
	if err := monitoringv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// render returns the objects of a release by kind and name. KEDA's objects are not of a type here, and render judges them by KEDA's
// resource definitions.
func render(t *testing.T, values map[string]any) (map[string]runtime.Object, error) {
	t.Helper()
	return renderAs(t, "prod", values)
}

func renderAs(t *testing.T, name string, values map[string]any) (map[string]runtime.Object, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: name, Namespace: "pawl", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := map[string]runtime.Object{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".txt") {
			if !strings.Contains(files[name], "/pawl doctor") {
				t.Errorf("%s: %s", name, files[name])
			}
			continue
		}
		for text := range strings.SplitSeq(files[name], "\n---\n") {
			var meta metav1.PartialObjectMetadata
			if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
			}
			if meta.Kind == "" {
				continue
			}
			key := meta.Kind + " " + meta.Name
			if objects[key] != nil {
				t.Errorf("two objects are %s", key)
			}
			if strings.HasPrefix(meta.APIVersion, "keda.sh/") {
				checkKEDA(t, meta.Kind, []byte(text))
				objects[key] = &meta
				continue
			}
			object, _, err := strict.Decode([]byte(text), nil, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
			}
			objects[key] = object
		}
	}
	return objects, nil
}

func values(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "ci", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// pageValues returns the values that docs/deploy.md shows.
func pageValues(t *testing.T) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\nimage:\n")
	text, _, found := strings.Cut("image:\n"+rest, "```")
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil || !found || len(values) < 4 {
		t.Fatalf("the page shows %d values: %v", len(values), err)
	}
	return values
}

// TestChart renders the chart for each file of values, and holds every object to the types of Kubernetes, every pod to the restricted
// profile, and what a pod reads to what it mounts.
func TestChart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files of values: %v", len(files), err)
	}
	if _, err := render(t, pageValues(t)); err != nil {
		t.Errorf("the values in docs/deploy.md: %v", err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for _, message := range lint.RunAll(chartDir, values(t, name), "pawl").Messages {
			if !strings.Contains(message.Err.Error(), "icon is recommended") {
				t.Errorf("%s: helm lint: %s", name, message)
			}
		}
		objects, err := render(t, values(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key, object := range objects {
			kind, _, _ := strings.Cut(key, " ")
			kinds[kind] = true
			switch object := object.(type) {
			case *appsv1.Deployment:
				checkPod(t, name+" "+key, objects, object.Spec.Template)
				checkWorker(t, name, object)
			case *batchv1.Job:
				checkPod(t, name+" "+key, objects, object.Spec.Template)
				if hook := object.Annotations["helm.sh/hook"]; hook != "pre-install,pre-upgrade" {
					t.Errorf("%s: the migration is the hook %q", name, hook)
				}
			case *monitoringv1.PrometheusRule:
				checkRules(t, object)
			case *corev1.Secret:
				t.Errorf("%s: the chart makes the Secret %s", name, object.Name)
			}
		}
		checkSelectors(t, name, objects)
	}
	for _, kind := range []string{"Deployment", "Job", "ConfigMap", "ServiceAccount", "NetworkPolicy", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule"} {
		if !kinds[kind] {
			t.Errorf("no file of values makes a %s", kind)
		}
	}
}

// checkPod holds a pod to the restricted profile of Kubernetes. Every file that a variable names is mounted, and is of a Secret only if
// the mode is one that Pawl accepts.
func checkPod(t *testing.T, name string, objects map[string]runtime.Object, pod corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := psa.NewEvaluator(psa.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	results := evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
	if len(results) < 10 {
		t.Fatalf("%s: %d checks of the restricted profile", name, len(results))
	}
	for _, result := range results {
		if !result.Allowed {
			t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	spec := pod.Spec
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("%s has the token of its account", name)
	}
	if account := spec.ServiceAccountName; account == "prod-pawl" && objects["ServiceAccount prod-pawl"] == nil {
		t.Errorf("%s runs as %s, which nothing makes", name, account)
	}
	container := spec.Containers[0]
	if container.SecurityContext.ReadOnlyRootFilesystem == nil || !*container.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("%s can write to its image", name)
	}
	mounted := map[string]bool{}
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			t.Errorf("%s mounts %s, which is no volume", name, mount.Name)
			continue
		}
		mounted[mount.MountPath] = true
		switch volume := spec.Volumes[i]; {
		case volume.Secret != nil:
			if volume.Secret.DefaultMode == nil || *volume.Secret.DefaultMode != 0o440 || spec.SecurityContext.FSGroup == nil || *spec.SecurityContext.FSGroup != *spec.SecurityContext.RunAsGroup {
				t.Errorf("%s: the worker cannot read the Secret %s, or refuses it", name, volume.Secret.SecretName)
			}
			for _, item := range volume.Secret.Items {
				mounted[path.Join(mount.MountPath, item.Path)] = true
			}
		case volume.ConfigMap != nil:
			config, ok := objects["ConfigMap "+volume.ConfigMap.Name].(*corev1.ConfigMap)
			if !ok {
				t.Errorf("%s mounts the ConfigMap %s, which nothing makes", name, volume.ConfigMap.Name)
				continue
			}
			for file := range config.Data {
				mounted[path.Join(mount.MountPath, file)] = true
			}
		}
	}
	if len(spec.Volumes) != len(container.VolumeMounts) {
		t.Errorf("%s has %d volumes and mounts %d", name, len(spec.Volumes), len(container.VolumeMounts))
	}
	for _, variable := range container.Env {
		if unknown := worker.UnknownVariables([]string{variable.Name + "=x"}); len(unknown) > 0 {
			t.Errorf("%s sets %s, which nothing reads", name, variable.Name)
		}
		if strings.HasPrefix(variable.Value, "/") && !mounted[variable.Value] {
			t.Errorf("%s: %s=%s is not mounted", name, variable.Name, variable.Value)
		}
	}
}

func checkWorker(t *testing.T, name string, object *appsv1.Deployment) {
	t.Helper()
	spec := object.Spec.Template.Spec
	// The worker gives running steps 10 seconds, and exits 5 seconds later; see docs/operations.md.
	if grace := spec.TerminationGracePeriodSeconds; grace == nil || *grace < 20 {
		t.Errorf("%s: a worker is killed before it has stopped", name)
	}
	env := map[string]string{}
	for _, variable := range spec.Containers[0].Env {
		env[variable.Name] = variable.Value
	}
	port := spec.Containers[0].Ports[0]
	if want := fmt.Sprintf("0.0.0.0:%d", port.ContainerPort); env["PAWL_HEALTH_LISTEN"] != want || port.Name != spec.Containers[0].ReadinessProbe.HTTPGet.Port.String() {
		t.Errorf("%s: probes ask another port than %s", name, env["PAWL_HEALTH_LISTEN"])
	}
	if live, ready := spec.Containers[0].LivenessProbe.HTTPGet.Path, spec.Containers[0].ReadinessProbe.HTTPGet.Path; live != "/livez" || ready != "/readyz" {
		t.Errorf("%s: probes %s and %s", name, live, ready)
	}
}

// checkRules holds the alerts of the chart to those of deploy/monitoring, of which the chart has a copy: a chart cannot read files beside it.
func checkRules(t *testing.T, object *monitoringv1.PrometheusRule) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var want monitoringv1.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(object.Spec, want) || len(want.Groups) == 0 {
		t.Errorf("deploy/helm/pawl/files/rules.yml is not deploy/monitoring/rules.yml: copy it")
	}
}

// checkSelectors holds selectors to the pods that they are for.
func checkSelectors(t *testing.T, name string, objects map[string]runtime.Object) {
	t.Helper()
	deployment := objects["Deployment prod-pawl"].(*appsv1.Deployment)
	workers := labels.Set(deployment.Spec.Template.Labels)
	migration := labels.Set{}
	if job, ok := objects["Job prod-pawl-migrate"].(*batchv1.Job); ok {
		migration = job.Spec.Template.Labels
	}
	covered := map[string]int{}
	for key, object := range objects {
		selector, ofMigration := (*metav1.LabelSelector)(nil), false
		switch object := object.(type) {
		case *appsv1.Deployment:
			selector = object.Spec.Selector
		case *policyv1.PodDisruptionBudget:
			selector = object.Spec.Selector
		case *networkingv1.NetworkPolicy:
			selector, ofMigration = &object.Spec.PodSelector, strings.HasSuffix(object.Name, "-migrate")
			if !slices.Equal(object.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) {
				t.Errorf("%s: %s does not deny what it does not name", name, key)
			}
			for _, rule := range object.Spec.Ingress {
				if len(rule.Ports) == 0 || len(rule.From) == 0 || ofMigration {
					t.Errorf("%s: %s lets anybody in", name, key)
				}
			}
			for _, rule := range object.Spec.Egress {
				if len(rule.Ports) == 0 {
					t.Errorf("%s: %s has a rule for every port", name, key)
				}
			}
		case *monitoringv1.PodMonitor:
			selector = &object.Spec.Selector
			port := deployment.Spec.Template.Spec.Containers[0].Ports[0].Name
			if e := object.Spec.PodMetricsEndpoints; len(e) != 1 || e[0].Port == nil || *e[0].Port != port || e[0].Path != "/metrics" {
				t.Errorf("%s: Prometheus reads %+v, and not /metrics at the port %s", name, e, port)
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			if object.Spec.ScaleTargetRef.Name != deployment.Name || deployment.Spec.Replicas != nil {
				t.Errorf("%s: the autoscaler and the Deployment disagree", name)
			}
		}
		if selector == nil {
			continue
		}
		compiled, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || compiled.Matches(workers) == ofMigration || compiled.Matches(migration) != ofMigration {
			t.Errorf("%s: %s selects the wrong pods: %s, %v", name, key, compiled, err)
		}
		covered[strings.Fields(key)[0]]++
	}
	if covered["PodDisruptionBudget"] != 1 || covered["NetworkPolicy"] == 0 {
		t.Errorf("%s: %v", name, covered)
	}
}

// TestChartRefuses: the chart says what is missing, and takes no secret as a value.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		change     map[string]any
	}{
		{"no image", "image.repository is required", map[string]any{"image": map[string]any{"repository": ""}}},
		{"no database", "database.secretName is required", map[string]any{"database": map[string]any{"secretName": ""}}},
		{"no Temporal", "temporal.address is required", map[string]any{"temporal": map[string]any{"address": ""}}},
		{"a secret", "config.PAWL_DATABASE_URL is a secret", map[string]any{"config": map[string]any{"PAWL_DATABASE_URL": "postgres://"}}},
		{"a header", "config.TEMPORAL_GRPC_META_AUTHORIZATION is a secret", map[string]any{"config": map[string]any{"TEMPORAL_GRPC_META_AUTHORIZATION": "x"}}},
		{"a variable of the chart", "config.PAWL_POLICY is set by the chart", map[string]any{"config": map[string]any{"PAWL_POLICY": "/p"}}},
		{"the shell", "cannot run in a pod", map[string]any{"config": map[string]any{"PAWL_SHELL": "on"}}},
		{"an unknown value", "replica", map[string]any{"replica": 3}},
		{"a kill in the middle of a step", "terminationGracePeriodSeconds", map[string]any{"terminationGracePeriodSeconds": 5}},
		{"a pool with a job of its own", "monitoring.podMonitor.job is required", map[string]any{
			"config": map[string]any{"PAWL_POOL": "media"}, "monitoring": map[string]any{"podMonitor": map[string]any{"enabled": true}},
		}},
		{"two scalers", "exclude each other", map[string]any{"keda": map[string]any{"enabled": true}, "autoscaling": map[string]any{"enabled": true}}},
		{"notices in clear", "notify", map[string]any{"notify": map[string]any{"url": "http://hooks.example.com"}}},
		{"unsigned notices", "notify.secretName is required", map[string]any{"notify": map[string]any{"url": "https://hooks.example.com"}}},
	} {
		_, err := render(t, util.CoalesceTables(tc.change, values(t, "minimal")))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v", tc.name, err)
		}
	}
}
