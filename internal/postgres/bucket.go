package postgres

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/bucket"
)

// OpenBucket makes the store keep the data of new outputs in the bucket at an address (bucket.Parse), and read the data that is in the
// bucket. An empty address changes nothing. OpenBucket sends no request. Call it before the first use of the Store.
func (s *Store) OpenBucket(ctx context.Context, address string) error {
	at, err := bucket.Parse(address)
	if err != nil || at.IsZero() {
		return nameSetting(err)
	}
	b, err := bucket.Open(ctx, at)
	if err != nil {
		return nameSetting(err)
	}
	s.UseBucket(b)
	return nil
}

// CheckBucketAddress returns an error if the address is not valid. Unlike OpenBucket, it reads no credentials from the environment.
func CheckBucketAddress(address string) error {
	_, err := bucket.Parse(address)
	return nameSetting(err)
}

func nameSetting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("PAWL_OUTPUT_BUCKET: %w", err)
}
