package outputs

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

const (
	// bucketRequests bounds the requests of one operation that run at the same time.
	bucketRequests = 8
	// objectBatch is how many objects one round of upkeep deletes.
	objectBatch = 200
)

// Bucket stores objects by key. An object has at most a little more than chunkSize bytes. Each method takes a bounded time. Temporary
// errors, such as the error of a server that does not answer, are marked with errs.Transient. Package internal/bucket implements it.
type Bucket interface {
	// Name identifies the bucket in rows and messages. It has no credentials.
	Name() string
	// Writes reports whether the data of new chunks goes into the bucket.
	Writes() bool
	Put(ctx context.Context, key string, data []byte) error
	// Get returns at most limit bytes of an object. found is false if there is no such object.
	Get(ctx context.Context, key string, limit int) (data []byte, found bool, err error)
	// Delete deletes an object. It is no error if there is none.
	Delete(ctx context.Context, key string) error
}

// UseBucket makes the store keep the data of new chunks in a bucket, and read the data that is in the bucket. Call it before the first use of the Store.
func (s *Store) UseBucket(b Bucket) { s.bucket = b }

// BucketName returns the name of the bucket of UseBucket, or "".
func (s *Store) BucketName() string {
	if s.bucket == nil {
		return ""
	}
	return s.bucket.Name()
}

// otherBucketError returns the error of an output in a bucket that this program does not use.
func (s *Store) otherBucketError(op, bucket string) error {
	if s.bucket == nil {
		return &db.Error{Op: op, State: fmt.Sprintf("the output is in the bucket %s: set PAWL_OUTPUT_BUCKET to that bucket", bucket)}
	}
	return &db.Error{Op: op, State: fmt.Sprintf("the output is in the bucket %s, and PAWL_OUTPUT_BUCKET names %s: set it to the former, or copy the objects", bucket, s.bucket.Name())}
}

// toBucket puts the data of new chunks into the bucket, if there is a bucket, and replaces the data in chunks by the keys of the objects. It
// writes the keys into the database first, so that upkeep can delete objects that no chunk uses. The error wraps output.ErrQuota if the
// tenant has no storage left.
func (s *Store) toBucket(ctx context.Context, tenantID string, chunks ...db.Values) error {
	if s.bucket == nil || !s.bucket.Writes() || len(chunks) == 0 {
		return nil
	}
	const op = "reserve objects of an output"
	keys, sizes, digests, total := make([]string, len(chunks)), make([]int32, len(chunks)), make([][]byte, len(chunks)), int64(0)
	data := make([][]byte, len(chunks))
	for i, c := range chunks {
		data[i], _ = c["data"].([]byte)
		digest := sha256.Sum256(data[i])
		keys[i], sizes[i], digests[i], total = uuid.NewString(), int32(len(data[i])), digest[:], total+int64(len(data[i])+chunkCost) //nolint:gosec // a chunk is small
	}
	reserve := db.Query("ReserveObjects", db.Values{
		"tenant_id": tenantID, "total": total, "quota": s.limits.Quota, "bucket": s.bucket.Name(), "keys": keys, "sizes": sizes, "digests": digests,
	})
	if err := errs.Persist(ctx, func() error {
		row, _, err := db.First[doneRow](ctx, s.db, op, reserve)
		if err == nil && !row.Done {
			err = fmt.Errorf("postgres: %s: %w", op, output.ErrQuota)
		}
		return err
	}); err != nil {
		return err
	}
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(bucketRequests)
	for i := range chunks {
		puts.Go(func() error {
			return errs.Persist(ctx, func() error { return s.bucket.Put(ctx, keys[i], data[i]) })
		})
	}
	if err := puts.Wait(); err != nil {
		return err
	}
	for i, c := range chunks {
		c["data"], c["object"] = []byte(nil), keys[i]
	}
	return nil
}

// errGone is the error for an object that is not in the bucket: upkeep deleted it after its row was read, or somebody else deleted it.
var errGone = errors.New("postgres: a part of the output is not in the bucket")

// fromBucket gets the data of the chunks that are in a bucket. After an error it returns the chunks before the one that failed.
func (s *Store) fromBucket(ctx context.Context, rows []chunkRow) ([]chunkRow, error) {
	failed := make([]error, len(rows))
	var gets sync.WaitGroup
	for i := range rows {
		if rows[i].Object != "" {
			gets.Go(func() { failed[i] = s.get(ctx, &rows[i]) })
		}
	}
	gets.Wait()
	for i, err := range failed {
		if err != nil {
			return rows[:i], err
		}
	}
	return rows, nil
}

func (s *Store) get(ctx context.Context, row *chunkRow) error {
	if row.Bucket != s.BucketName() {
		return s.otherBucketError("read an output", row.Bucket)
	}
	data, found, err := s.bucket.Get(ctx, row.Object, row.Size+1)
	if err != nil {
		return err
	}
	if !found {
		return errGone
	}
	if digest := sha256.Sum256(data); subtle.ConstantTimeCompare(digest[:], row.SHA256) != 1 {
		return errDamaged
	}
	row.Data = data
	return nil
}

// deleteObjects deletes a batch of objects to which no chunk refers any more: objects of the output ref, or of all outputs if ref is empty. It
// returns how many objects it deleted. It leaves objects of other buckets to programs that use these buckets.
func (s *Store) deleteObjects(ctx context.Context, tenantID, ref string) (int, error) {
	const op = "delete objects of outputs"
	if s.bucket == nil {
		return 0, nil
	}
	rows, err := db.All[keyRow](ctx, s.db, op, db.Query("Garbage", db.Values{
		"bucket": s.bucket.Name(), "ref": db.Text(ref), "tenant_id": db.Text(tenantID), "batch": objectBatch,
	}))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	failed := make([]error, len(rows))
	var failures atomic.Int32
	var deletes errgroup.Group
	deletes.SetLimit(bucketRequests)
	for i, row := range rows {
		deletes.Go(func() error {
			if failures.Load() >= bucketRequests {
				failed[i] = errNotTried // the bucket does not answer, or refuses every request
				return nil
			}
			if failed[i] = s.bucket.Delete(ctx, row.Key); failed[i] != nil {
				failures.Add(1)
			}
			return failed[i]
		})
	}
	refused := deletes.Wait()
	var deleted, left []string
	for i, row := range rows {
		if failed[i] == nil {
			deleted = append(deleted, row.Key)
		} else {
			left = append(left, row.Key)
		}
	}
	if len(deleted) > 0 {
		if _, err := s.db.Exec(ctx, op, db.Query("ForgetObjects", db.Values{"keys": deleted})); err != nil {
			return 0, err
		}
	}
	if len(left) > 0 {
		if _, err := s.db.Exec(ctx, op, db.Query("PostponeObjects", db.Values{"keys": left})); err != nil {
			return 0, err
		}
	}
	return len(deleted), refused
}

var errNotTried = errors.New("postgres: the object was not tried")

// DeleteOutputObjects ends reservations of objects that no writer has used, and deletes a batch of the objects in the bucket to which no
// chunk refers. It returns how many rows it changed, and the first error of the bucket.
func (s *Store) DeleteOutputObjects(ctx context.Context) (int, error) {
	reserved, err := s.db.Exec(ctx, "expire reservations of objects", db.Query("ExpireReservations", db.Values{"batch": objectBatch}))
	if err != nil {
		return 0, err
	}
	objects, err := s.deleteObjects(ctx, "", "")
	return int(reserved) + objects, err
}

type keyRow struct{ Key string }

type bucketRow struct{ Bucket string }

// deleteObjectsOf deletes the objects of an output whose chunks are deleted. It returns an error if some are in another bucket.
func (s *Store) deleteObjectsOf(ctx context.Context, tenantID, ref string) error {
	for {
		n, err := s.deleteObjects(ctx, tenantID, ref)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	const op = "delete an output"
	row, found, err := db.First[bucketRow](ctx, s.db, op, db.Query("ForeignObjects", db.Values{
		"bucket": s.BucketName(), "ref": db.Text(ref), "tenant_id": db.Text(tenantID),
	}))
	if err == nil && found {
		err = s.otherBucketError(op, row.Bucket)
	}
	return err
}

// BucketUse says how many objects of a bucket the database refers to.
type BucketUse struct {
	Bucket  string
	Objects int64
	// GarbageSince is when the oldest object without a chunk lost its chunk; nil if there is no such object.
	GarbageSince *time.Time
}

// OutputBuckets returns the buckets that stored outputs refer to.
func (s *Store) OutputBuckets(ctx context.Context) ([]BucketUse, error) {
	return db.All[BucketUse](ctx, s.db, "buckets of outputs", db.Query("Buckets", db.Values{}))
}

// CheckBucket puts a small object into the bucket, gets it and deletes it. If this fails, upkeep deletes the object. CheckBucket does nothing
// if there is no bucket, or if the bucket is only read.
func (s *Store) CheckBucket(ctx context.Context) error {
	if s.bucket == nil || !s.bucket.Writes() {
		return nil
	}
	const probeText = "pawl doctor"
	probe := db.Values{"data": []byte(probeText)}
	if err := s.toBucket(ctx, "", probe); err != nil {
		return err
	}
	key, _ := probe["object"].(string)
	got, found, err := s.bucket.Get(ctx, key, chunkSize)
	if err == nil && (!found || string(got) != probeText) {
		err = errGone
	}
	if err != nil {
		return err
	}
	if err := s.bucket.Delete(ctx, key); err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "forget a probe", db.Query("ForgetProbe", db.Values{"key": key}))
	return err
}
