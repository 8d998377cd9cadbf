package capability

import (
	"context"
	"io"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// CommandsKey is the typed name of Commands.
var CommandsKey = toolspec.NewCapability[Commands]("commands")

// Commands runs scripts of a shell on the files of the workspace, in a sandbox.
type Commands interface {
	// Run runs one script and waits for its end. All processes that the script has started are dead
	// when Run returns, also those in the background. It writes the standard output and the standard
	// error to out, in the order in which they arrive; if a write fails, Run stops the script and
	// returns the error. A script that fails, or that a limit stops, is no error. Errors are those of
	// this package if one fits, the error of the context, or an error of the system, which is not
	// safe to show.
	Run(ctx context.Context, c Command, out io.Writer) (CommandEnd, error)
}

// Command is a script with its limits.
type Command struct {
	// Script is read by /bin/sh.
	Script string
	// Dir is the working directory, relative to the workspace. The default is the workspace.
	Dir string
	// Timeout is the most time that the script may take. It must be positive.
	Timeout time.Duration
	// MaxOutput is the most that the script may write, in bytes. It must be positive.
	MaxOutput int64
}

// CommandEnd says how a script ended.
type CommandEnd struct {
	// ExitCode is the exit status of the script, and -1 if a signal ended it.
	ExitCode int
	// Signal is the name of the signal that ended the script, such as SIGKILL, or "".
	Signal string
	// StoppedBy is the limit for which the script was killed: LimitDisk, LimitMemory, LimitOutput or LimitTime; or
	// "".
	StoppedBy Limit
	// Reached are the limits that the script reached, sorted. LimitProcesses stops no script: it cannot start
	// more processes.
	Reached  []Limit
	Duration time.Duration
	// Protections are the protections that were on, sorted.
	Protections []string
}

// Limit is a limit of a script and of all processes that it starts.
type Limit string

// The limits.
const (
	// LimitDisk is the room that the file system of the workspace keeps free.
	LimitDisk      Limit = "disk"
	LimitMemory    Limit = "memory"
	LimitOutput    Limit = "output"
	LimitProcesses Limit = "processes"
	LimitTime      Limit = "time"
)
