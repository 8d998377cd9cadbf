package worker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/internal/postgres"
)

// Defaults of stored outputs.
const (
	defaultOutputQuota = 20 << 30
	defaultOutputDays  = 30
)

// loadOutputs reads the quota, the retention and the bucket of stored outputs from the environment.
func loadOutputs(c *Config) (err error) {
	if text := os.Getenv("PAWL_OUTPUT_QUOTA"); text != "" {
		if c.OutputQuota, err = strconv.ParseInt(text, 10, 64); err != nil || c.OutputQuota < 1 {
			return errors.New("config: PAWL_OUTPUT_QUOTA must be a number of bytes of at least 1")
		}
	}
	if text := os.Getenv("PAWL_OUTPUT_RETENTION"); text != "" {
		if c.OutputDays, err = strconv.Atoi(text); err != nil || c.OutputDays < 1 {
			return fmt.Errorf("config: PAWL_OUTPUT_RETENTION must be between 1 and %d days", maxRetentionDays)
		}
	}
	c.OutputBucket = os.Getenv("PAWL_OUTPUT_BUCKET")
	return completeOutputs(c)
}

// completeOutputs sets the defaults of stored outputs and checks their settings.
func completeOutputs(c *Config) error {
	c.OutputQuota, c.OutputDays = cmp.Or(c.OutputQuota, defaultOutputQuota), cmp.Or(c.OutputDays, defaultOutputDays)
	if c.OutputQuota < 0 {
		return errors.New("config: PAWL_OUTPUT_QUOTA must be a number of bytes of at least 1")
	}
	if c.OutputDays < 1 || c.OutputDays > maxRetentionDays {
		return fmt.Errorf("config: PAWL_OUTPUT_RETENTION must be between 1 and %d days", maxRetentionDays)
	}
	if err := postgres.CheckBucketAddress(c.OutputBucket); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}

func (c Config) outputLimits() postgres.OutputLimits {
	days := min(c.OutputDays, c.RetentionDays)
	return postgres.OutputLimits{Quota: c.OutputQuota, Keep: time.Duration(days) * 24 * time.Hour}
}
