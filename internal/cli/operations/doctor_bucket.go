package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/worker"
)

// lateGarbage is how long an object that no output refers to may wait for its deletion.
const lateGarbage = time.Hour

// bucket checks that outputs can be stored in the configured bucket, that no output is in another bucket, and that
// objects without an output are deleted in time. It adds no line if no bucket is used. It has checkTimeout for itself,
// because a bucket that does not answer uses up the time.
func (d *diagnosis) bucket(ctx context.Context, store *postgres.Store, c worker.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	used, err := store.OutputBuckets(ctx)
	if err != nil {
		d.add("bucket", err, "")
		return
	}
	if len(used) == 0 && c.OutputBucket == "" {
		return
	}
	configured, err := store.BucketName(), store.CheckBucket(ctx)
	var faults []string
	if err != nil {
		faults = append(faults, errs.Reason(err))
	}
	objects := int64(0)
	for _, u := range used {
		if u.Bucket != configured {
			faults = append(faults, fmt.Sprintf("%d objects are in %s: set PAWL_OUTPUT_BUCKET to it until its outputs have expired", u.Objects, u.Bucket))
			continue
		}
		objects = u.Objects
		if u.GarbageSince != nil && time.Since(*u.GarbageSince) > lateGarbage {
			faults = append(faults, fmt.Sprintf("objects wait for their deletion since %s: check that the sweeper runs and may delete", app.FormatTime(*u.GarbageSince)))
		}
	}
	if len(faults) > 0 {
		d.add("bucket", errors.New(strings.Join(faults, "; ")), "")
		return
	}
	d.add("bucket", nil, fmt.Sprintf("%s stores and deletes objects; %d are there", configured, objects))
}
