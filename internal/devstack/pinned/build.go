package pinned

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
	"github.com/pawl-run/pawl/internal/filelock"
)

const (
	progressEvery = 15 * time.Second
	buildGrace    = 5 * time.Second
	buildTail     = 2000 // bytes of the compiler's output in an error
)

// build builds the program in dir, holding the lock of dir, unless another process built it while build waited for the lock.
func (p Program) build(ctx context.Context, dir, program string, progress func(string)) error {
	lock, err := filelock.Wait(ctx, filepath.Join(dir, "lock"), func() {
		progress("waiting for " + p.Name + " that another pawl process is building")
	})
	if err != nil {
		return fmt.Errorf("wait for another build of %s: %w", p.Name, err)
	}
	defer lock.Release()
	if isProgram(program) {
		return nil
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("there is not %s: %s, or install Go, so that pawl can build it", p.Name, p.Otherwise)
	}
	if goTool, err = filepath.Abs(goTool); err != nil {
		return fmt.Errorf("find the go command: %w", err)
	}
	// The lock is held, so the directory is left from a build that was killed.
	work := filepath.Join(dir, "build")
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("clear an unfinished build of %s (delete %s by hand): %w", p.Name, work, err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer os.RemoveAll(work)
	for name, text := range map[string][]byte{"go.mod": p.Mod, "go.sum": p.Sum} {
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			return fmt.Errorf("build %s: %w", p.Name, err)
		}
	}
	progress(fmt.Sprintf("building %s %s, once, %s, into %s", p.Name, p.Version, p.Takes, program))
	started := time.Now()
	if err := p.compile(ctx, goTool, work, lock.File(), progress); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, p.Binary), program); err != nil {
		return fmt.Errorf("put %s into the cache: %w", p.Name, err)
	}
	progress(fmt.Sprintf("built %s in %s", p.Name, time.Since(started).Round(time.Second)))
	return nil
}

// compile runs the go command in work and reports the time it takes. No compiler runs after ctx ends or the calling process is killed.
func (p Program) compile(ctx context.Context, goTool, work string, hold *os.File, progress func(string)) error {
	output, err := os.Create(filepath.Join(work, "build.log"))
	if err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer output.Close()
	guard, err := supervise.NewGuard(supervise.GuardOptions{Remove: []string{work}, Hold: hold})
	if err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer guard.Close()
	process, err := guard.Start(supervise.Command{
		Path: goTool,
		Args: []string{"build", "-mod=readonly", "-buildvcs=false", "-ldflags=-s -w", "-o", p.Binary, p.Package},
		// Keep the user's settings of proxy, cache and toolchain. Drop settings for the current
		// source tree.
		Env:    append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTMPDIR="+work, "PWD="+work, "GOOS=", "GOARCH="),
		Dir:    work,
		Output: output,
		Group:  true,
	})
	if err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	started, tick := time.Now(), time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-process.Done():
			if process.Err() == nil {
				return nil
			}
			return fmt.Errorf("building %s failed (%w); fix this or %s:\n%s", p.Name, process.Err(), p.Otherwise, tail(output))
		case <-ctx.Done():
			process.Stop(context.WithoutCancel(ctx), supervise.Step{Signal: supervise.Terminate, Wait: buildGrace})
			return fmt.Errorf("the build of %s was stopped; run it again to finish it: %w", p.Name, context.Cause(ctx))
		case <-tick.C:
			progress(fmt.Sprintf("still building %s, %s", p.Name, time.Since(started).Round(time.Second)))
		}
	}
}

func tail(output *os.File) string {
	text, err := os.ReadFile(output.Name())
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(string(text[max(0, len(text)-buildTail):]))
}
