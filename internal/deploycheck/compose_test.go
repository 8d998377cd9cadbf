package deploycheck

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/e2etest"
)

// TestComposeAnswersACall follows docs/deploy.md: the services of docker-compose.yml that have Pawl's image run in their order, each with
// its command, its variables and its volumes, on a Postgres and a Temporal server of the tests. Then every command of the page that runs
// in the container of the worker runs.
func TestComposeAnswersACall(t *testing.T) {
	t.Parallel()
	project := loadProject(t)
	servers, err := devstack.Start(t.Context(), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { servers.Stop(context.WithoutCancel(t.Context())) })
	program := buildImage(t)
	worker := project.Services["worker"]
	for _, name := range []string{"migrate", "keyring"} {
		if worker.DependsOn[name].Condition != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("the worker does not wait for %s", name)
		}
		// Twice, as `docker compose up` on a machine that has the volumes.
		for range 2 {
			cmd := service(t, program, servers, project.Services[name])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
	}
	outside := program.command(t, []string{"/var/lib/pawl"}, nil, []string{"/pawl", "keyring", "new", "/keyring.json"})
	if out, err := outside.CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("a container wrote to its image: %v\n%s", err, out)
	}

	var log bytes.Buffer
	process := service(t, program, servers, worker)
	process.Stdout, process.Stderr = &log, &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var fault error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fault = process.Wait()
	}()
	t.Cleanup(func() {
		process.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the worker says\n%s", &log)
		}
	})
	health := worker.HealthCheck.Test
	if health[0] != "CMD" {
		t.Fatalf("health check %q", health)
	}
	inWorker(t, program, servers, worker, health[1:])

	page, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	commands := regexp.MustCompile(`(?m)^docker compose exec worker (.+)$`).FindAllSubmatch(page, -1)
	if len(commands) < 5 {
		t.Fatalf("the page has %d commands", len(commands))
	}
	var args []string
	for _, command := range commands {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `for word in `+string(command[1])+`; do printf '%s\0' "$word"; done`).Output()
		if err != nil {
			t.Fatal(err)
		}
		args = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		shown = inWorker(t, program, servers, worker, args)
	}
	// The approved call may still run.
	shown = inWorkerUntil(t, program, servers, worker, args, func(out string) bool { return !strings.Contains(out, "no result yet") })
	if !strings.Contains(shown, "ok") || !strings.Contains(shown, "user:ada") {
		t.Errorf("the last command shows\n%s", shown)
	}
	if text, err := os.ReadFile(filepath.Join(program.dir, "workspace", "notes.md")); err != nil || string(text) != "hello" {
		t.Errorf("notes.md is %q, %v", text, err)
	}

	began := time.Now()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		if fault != nil {
			t.Errorf("the worker ended with %v", fault)
		}
	case <-time.After(time.Duration(*worker.StopGracePeriod)):
		t.Errorf("the worker runs %s after SIGTERM", time.Since(began))
	}
}

// loadProject reads docker-compose.yml, and files that add to it, as Compose does: references, defaults of variables and schema.
func loadProject(t *testing.T, more ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(append([]string{"../../docker-compose.yml"}, more...), cli.WithEnv(nil))
	if err != nil {
		t.Fatal(err)
	}
	project, err := cli.ProjectFromOptions(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range project.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
			}
		}
		if s.Build != nil && (!s.ReadOnly || strings.Join(s.CapDrop, " ") != "ALL" || strings.Join(s.Tmpfs, " ") != "/tmp" || s.User != "" || s.Privileged) {
			t.Errorf("%s may do more than it needs", name)
		}
	}
	return project
}

// service returns the command of a service, in a container of the image.
func service(t *testing.T, program image, servers *devstack.Stack, s types.ServiceConfig) *exec.Cmd {
	t.Helper()
	return inService(t, program, servers, s, append([]string{"/pawl"}, s.Command...))
}

func inService(t *testing.T, program image, servers *devstack.Stack, s types.ServiceConfig, args []string) *exec.Cmd {
	t.Helper()
	var env, volumes []string
	for name, set := range s.Environment {
		value := *set
		// The names of services are the servers of the test.
		switch name {
		case "PAWL_DATABASE_URL":
			if u, err := url.Parse(value); err != nil || u.Host != "postgres:5432" {
				t.Fatalf("%s: the database is at %s, %v", s.Name, u.Host, err)
			}
			value = servers.DatabaseURL()
		case "TEMPORAL_ADDRESS":
			if value != "temporal:7233" {
				t.Fatalf("%s: Temporal is at %s", s.Name, value)
			}
			value = servers.TemporalAddress()
		}
		env = append(env, name+"="+value)
	}
	for _, volume := range s.Volumes {
		switch volume.Type {
		case types.VolumeTypeBind:
			content, err := os.ReadFile(volume.Source)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(program.dir, volume.Target)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			if !volume.ReadOnly {
				volumes = append(volumes, volume.Target)
			}
		}
	}
	return program.command(t, volumes, env, args)
}

// inWorker runs a command in the container of the worker until it succeeds, for a person who types takes longer than a call, and
// returns its output. It waits between two tries: on a busy machine the tries would take the processors from the worker that starts.
func inWorker(t *testing.T, program image, servers *devstack.Stack, s types.ServiceConfig, args []string) string {
	t.Helper()
	return inWorkerUntil(t, program, servers, s, args, func(string) bool { return true })
}

// inWorkerUntil repeats the command until accept returns true for its output.
func inWorkerUntil(t *testing.T, program image, servers *devstack.Stack, s types.ServiceConfig, args []string, accept func(out string) bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ; ; <-tick.C {
		out, err := inService(t, program, servers, s, args).CombinedOutput()
		if err == nil && accept(string(out)) {
			t.Logf("%q:\n%s", args, out)
			return string(out)
		}
		if ctx.Err() != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
}

// TestComposeMonitoring: the file for monitoring adds servers that are as closed as those of docker-compose.yml, and every file that they mount is
// there. promtool reads the configuration.
func TestComposeMonitoring(t *testing.T) {
	t.Parallel()
	project := loadProject(t, "../../deploy/monitoring/compose.yml")
	for name, port := range map[string]string{"prometheus": "9090", "grafana": "3000", "jaeger": "16686"} {
		s := project.Services[name]
		if len(s.Ports) != 1 || s.Ports[0].Published != port {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
		if _, tag, _ := strings.Cut(s.Image, ":"); tag == "" || tag == "latest" {
			t.Errorf("the image %s has no version", s.Image)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if info, err := os.Stat(v.Source); err != nil || !info.Mode().IsRegular() || !v.ReadOnly {
					t.Errorf("%s mounts %s: %v", name, v.Source, err)
				}
			}
		}
	}
	if got := project.Services["worker"].Environment["PAWL_HEALTH_LISTEN"]; got == nil || *got != "0.0.0.0:8086" {
		t.Error("Prometheus does not reach the worker")
	}
	run(t, ".", needProgram(t, "promtool"), "check", "config", "--syntax-only", "../../deploy/monitoring/prometheus.yml")
}
