package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
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

// deploymentAnswer bounds the answer to one question about a deployment. CheckDeployment asks at most three times.
const deploymentAnswer = 5 * time.Second

// CheckDeployment returns a sentence that says which calls the build of d gets. If the build gets no calls, or
// Temporal does not answer the question, it returns an error of one sentence instead.
func CheckDeployment(ctx context.Context, temporal client.Client, d Deployment) (string, error) {
	deployment := temporal.WorkerDeploymentClient().GetHandle(d.Name)
	var (
		found client.WorkerDeploymentDescribeResponse
		err   error
	)
	// A workflow of Temporal keeps the deployment. While it continues in a new run, Temporal may answer that there is no deployment, or not at all.
	for range 3 {
		asking, cancel := context.WithTimeout(ctx, deploymentAnswer)
		found, err = deployment.Describe(asking, client.WorkerDeploymentDescribeOptions{})
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	var unknown *serviceerror.NotFound
	switch {
	case errors.As(err, &unknown):
		return "", fmt.Errorf("Temporal has no deployment %s: no worker with this PAWL_DEPLOYMENT has polled yet", d.Name) //nolint:staticcheck // a name
	case err != nil:
		return "", fmt.Errorf("Temporal does not say which build of the deployment %s is current: %s", d.Name, serviceerror.ToStatus(err).Code()) //nolint:staticcheck // a name
	}
	route := found.Info.RoutingConfig
	switch {
	case route.CurrentVersion != nil && route.CurrentVersion.BuildID == d.BuildID:
		return fmt.Sprintf("build %s is the current one of the deployment %s", d.BuildID, d.Name), nil
	case route.RampingVersion != nil && route.RampingVersion.BuildID == d.BuildID && route.RampingVersionPercentage > 0:
		return fmt.Sprintf("build %s gets %g %% of the calls of the deployment %s", d.BuildID, route.RampingVersionPercentage, d.Name), nil
	}
	return "", fmt.Errorf("build %[1]s is neither the current nor the ramping one of the deployment %[2]s, so it gets no calls: run "+
		"`temporal worker deployment set-current-version --deployment-name %[2]s --build-id %[1]s`, or stop its workers", d.BuildID, d.Name)
}
