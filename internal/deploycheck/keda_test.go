package deploycheck

import (
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// checkKEDA holds an object of KEDA to KEDA's own resource definition, and the trigger to the keys that the scaler for Temporal of KEDA
// 2.21 reads (pkg/scalers/temporal_scaler.go there).
func checkKEDA(t *testing.T, kind string, text []byte) {
	t.Helper()
	definition, err := os.ReadFile("testdata/keda.sh_" + strings.ToLower(kind) + "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		t.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	closeObjects(schema)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("crd.json", any(schema)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("crd.json")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec struct {
			Triggers []struct {
				Type     string
				Metadata map[string]string
			}
			SecretTargetRef []struct{ Parameter string }
		}
	}
	var instance any
	if err := yaml.Unmarshal(text, &instance); err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(instance); err != nil {
		t.Errorf("%s: %v\n%s", kind, err, text)
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	for _, trigger := range object.Spec.Triggers {
		for key := range trigger.Metadata {
			if trigger.Type != "temporal" || !strings.Contains(" endpoint namespace taskQueue queueTypes targetQueueSize activationTargetQueueSize tlsServerName ", " "+key+" ") {
				t.Errorf("the scaler %s does not read %s", trigger.Type, key)
			}
		}
	}
	for _, secret := range object.Spec.SecretTargetRef {
		if !strings.Contains(" ca cert key apiKey ", " "+secret.Parameter+" ") {
			t.Errorf("the scaler does not read %s", secret.Parameter)
		}
	}
}

// closeObjects makes every object of a schema refuse the members that it does not name, as Kubernetes drops them.
func closeObjects(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	for name, property := range properties {
		// The schema of Kubernetes leaves out what is in every object's metadata.
		if member, ok := property.(map[string]any); ok && name != "metadata" {
			closeObjects(member)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		closeObjects(items)
	}
}
