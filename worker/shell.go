package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/internal/sandbox"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// minShellMemory is the least memory in which a shell starts, in bytes.
const minShellMemory = 64 << 20

// Shell configures the sandbox of core__shell.
type Shell struct {
	// On turns the tool on: PAWL_SHELL=on.
	On bool
	// Without lists the protections that the sandbox leaves out: some of cgroup, network and user. PAWL_SHELL_WITHOUT has the same list,
	// with commas. If the machine cannot give scripts a protection that is not in the list, the worker does not start.
	Without []string
	// Memory is how much memory a script and its files in /tmp may use, in bytes: PAWL_SHELL_MEMORY, at least 64 MiB; 0 means 2 GiB.
	Memory int64
}

func loadShell() (s Shell, err error) {
	switch text := os.Getenv("PAWL_SHELL"); text {
	case "", "off":
	case "on":
		s.On = true
	default:
		return s, errors.New("config: PAWL_SHELL must be on or off")
	}
	s.Without = words(os.Getenv("PAWL_SHELL_WITHOUT"))
	if text := os.Getenv("PAWL_SHELL_MEMORY"); text != "" {
		if s.Memory, err = strconv.ParseInt(text, 10, 64); err != nil || s.Memory < minShellMemory {
			return s, fmt.Errorf("config: PAWL_SHELL_MEMORY must be a number of bytes, at least %d", minShellMemory)
		}
	}
	return s, nil
}

// check checks the configured workspace, before a default replaces an empty workspace. Scripts may change all
// files of the workspace, and the default is the working directory, which is / for some services.
func (s Shell) check(workspace string) error {
	switch {
	case !s.On:
		return nil
	case workspace == "":
		return errors.New("config: PAWL_SHELL is on, and PAWL_WORKSPACE is not set: name the directory that scripts may read and change")
	case strings.Contains(workspace, "{"):
		return errors.New("config: PAWL_SHELL is on, and PAWL_WORKSPACE gives each tenant its own workspace: scripts need one workspace for all calls of the worker; turn the shell off, or run a worker with one workspace for it")
	}
	return nil
}

// Protections runs a script in a workspace, as a worker does at its start, and returns the protections of scripts, sorted. It returns an error
// if a worker with this configuration would not start.
func (s Shell) Protections(ctx context.Context, workspace string) ([]string, error) {
	if err := s.check(workspace); err != nil {
		return nil, err
	}
	box, err := s.open(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return box.Protections(), nil
}

// open returns the sandbox of scripts in a workspace.
func (s Shell) open(ctx context.Context, workspace string) (*sandbox.Sandbox, error) {
	box, err := sandbox.Open(ctx, sandbox.Options{Workspace: workspace, Without: s.Without, Memory: s.Memory})
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_SHELL is on, and this machine cannot run scripts safely: %w", err)
	}
	return box, nil
}

// provided returns the capability of core__shell, or none if the tool is off.
func (s Shell) provided(ctx context.Context, workspace string) ([]toolspec.Provided, error) {
	if !s.On {
		return nil, nil
	}
	box, err := s.open(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return []toolspec.Provided{capability.CommandsKey.Provide(box)}, nil
}
