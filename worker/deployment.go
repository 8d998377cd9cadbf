package worker

import (
	"errors"
	"os"
	"regexp"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Deployment makes a worker a version of a Worker Deployment of Temporal. The zero value is a worker without versioning.
type Deployment struct {
	// Name is the name of the deployment, the same for all workers of a task queue: PAWL_DEPLOYMENT.
	Name string
	// BuildID names the build, such as the tag of an image: PAWL_BUILD_ID.
	BuildID string
}

// Temporal writes a version as name.build, so the name has no dot.
var (
	deploymentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	buildID        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)
)

func loadDeployment() Deployment {
	return Deployment{Name: os.Getenv("PAWL_DEPLOYMENT"), BuildID: os.Getenv("PAWL_BUILD_ID")}
}

func (d Deployment) check() error {
	switch {
	case d == Deployment{}:
		return nil
	case d.Name == "" || d.BuildID == "":
		return errors.New("config: PAWL_DEPLOYMENT and PAWL_BUILD_ID belong together: set both, or none")
	case !deploymentName.MatchString(d.Name):
		return errors.New("config: PAWL_DEPLOYMENT must be 1 to 100 characters of A-Z a-z 0-9 _ -, with a letter or a digit first")
	case !buildID.MatchString(d.BuildID):
		return errors.New("config: PAWL_BUILD_ID must be 1 to 100 characters of A-Z a-z 0-9 . _ + -, with a letter or a digit first")
	}
	return nil
}

// options returns the options of the Temporal worker. Every workflow continues on the current version: ADR 62 says why no
// workflow is pinned to a version.
func (d Deployment) options() worker.DeploymentOptions {
	if d.Name == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
}
