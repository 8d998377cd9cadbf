package postgres

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/bucket"
)

// OpenBucket makes the store keep the data of new outputs in the bucket at an address (bucket.Parse), and read what is there. "" changes
// nothing. It sends no request. Call it before the first use of the Store.
func (s *Store) OpenBucket(ctx context.Context, address string) error {
	at, err := bucket.Parse(address)
	if err != nil || at.IsZero() {
		return outputBucket(err)
	}
	b, err := bucket.Open(ctx, at)
	if err != nil {
		return outputBucket(err)
	}
	s.UseBucket(b)
	return nil
}

// CheckBucketAddress returns an error if OpenBucket would refuse the address whatever the environment says.
func CheckBucketAddress(address string) error {
	_, err := bucket.Parse(address)
	return outputBucket(err)
}

func outputBucket(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("PAWL_OUTPUT_BUCKET: %w", err)
}
