package worker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

// TestCompose: without Docker a test can check that the files that docker-compose.yml mounts exist, that its
// policy allows the call in its first lines for the tenant of the command line, and that the names of its
// variables are right.
func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Build       string
			Environment map[string]string
			Volumes     []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	mounts := map[string]string{} // file in the container of the worker: file here
	for name, service := range file.Services {
		if service.Build != "" {
			if _, err := os.Stat(filepath.Join("..", service.Build, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for variable := range service.Environment {
			if unknown := UnknownVariables([]string{variable + "=x"}); len(unknown) > 0 {
				t.Errorf("%s sets %s, which nothing reads", name, variable)
			}
		}
		for _, volume := range service.Volumes {
			parts := strings.Split(volume, ":")
			source := parts[0]
			if _, named := file.Volumes[source]; named {
				continue
			}
			if info, err := os.Stat(filepath.Join("..", source)); err != nil || !strings.HasPrefix(source, "./") || !info.Mode().IsRegular() {
				t.Errorf("%s mounts %s, which is neither a volume nor a file here: %v", name, source, err)
			}
			if name == "worker" {
				mounts[parts[1]] = filepath.Join("..", source)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\$\{(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if unknown := UnknownVariables([]string{name[1] + "=x"}); len(unknown) > 0 {
			t.Errorf("the file reads %s, which nothing documents", name[1])
		}
	}
	path := mounts[file.Services["worker"].Environment["PAWL_POLICY"]]
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the policy of the worker is not mounted: %v", err)
	}
	p, err := policy.Parse(path, rules)
	if err != nil {
		t.Fatal(err)
	}
	called := regexp.MustCompile(`/pawl invoke (\S+)`).FindSubmatch(text)
	if called == nil {
		t.Fatal("the first lines of the file call no tool")
	}
	all := tools.All()
	i := slices.IndexFunc(all, func(tool toolspec.Tool) bool { return tool.Definition().ID == string(called[1]) })
	if i < 0 {
		t.Fatalf("%s is not a built-in tool", called[1])
	}
	def := all[i].Definition()
	d := p.Decide(policy.Facts{
		TenantID: "acme", ActorID: "agent:cli", RunID: "cli", ToolID: def.ID, Effect: def.Effect, Risk: def.Risk, Tags: def.Tags,
		Args: []byte(`{}`), HasArgs: true,
	})
	if d.Verb != policy.Allow {
		t.Errorf("policy says %s of %s: %s", d.Verb, def.ID, d.Message)
	}
}
