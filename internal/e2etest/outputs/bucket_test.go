package outputs

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/worker"
)

// objects fails unless the database has a row for every object of the server, and returns the number of objects.
func objects(w *e2etest.World, server *buckettest.Server) int {
	w.T.Helper()
	keys := server.Keys(w.T)
	for _, key := range keys {
		if n := e2etest.Scalar[int](w, `SELECT count(*) FROM output_objects WHERE key::text = $1`, strings.TrimPrefix(key, "outputs/")); n != 1 {
			w.T.Errorf("no row names the object %s", key)
		}
	}
	return len(keys)
}

// TestWorkerKilledInAStreamToABucket: no result refers to the output of the killed worker, and upkeep deletes its objects. A model, a person and a client can
// read the output of the next worker.
func TestWorkerKilledInAStreamToABucket(t *testing.T) {
	t.Parallel()
	server, w := buckettest.New(t), e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Store.UseBucket(server.Open(t))
	first := w.ServeInChildWith("PAWL_OUTPUT_BUCKET=" + server.Address())
	file := filepath.Join(t.TempDir(), "effects")
	call := w.Start(e2etest.Invocation("call", "test__killed", e2etest.AsJSON(e2etest.In{Text: file})))
	w.Until(func() bool { return len(w.Effects(file)) >= 1 }, "the first worker writes")
	e2etest.Kill(first)
	half := e2etest.Scalar[string](w, `SELECT ref FROM outputs WHERE state = 'writing' AND stored > 0`)
	if objects(w, server) == 0 {
		t.Fatal("the first worker has stored no object")
	}
	w.ServeInChildWith("PAWL_OUTPUT_BUCKET=" + server.Address())
	r := w.Result(call)
	e2etest.WantText(t, r, "written")
	if r.OutputRef == half || r.Attempts != 2 {
		t.Errorf("%+v has the output %s of the killed worker", r, half)
	}
	reclaim(w)
	// The kill may have interrupted a request and left its reservation.
	e2etest.Scalar[int](w, `WITH late AS (UPDATE output_objects SET changed_at = now() - interval '11 minutes' RETURNING key) SELECT count(*) FROM late`)
	reclaim(w)
	if got, rows := objects(w, server), e2etest.Scalar[int](w, `SELECT count(*) FROM output_objects`); got != counts(w)[0] || rows != got {
		t.Errorf("%d objects and %d rows of objects are left for %d chunks", got, rows, counts(w)[0])
	}
	if data := read(w, r.OutputRef, output.Position{}); bytes.Count(data, []byte{'\n'}) != killedLines {
		t.Errorf("the output has %d lines", bytes.Count(data, []byte{'\n'}))
	}
	cached := w.Invoke(e2etest.Invocation("page", "core__tool_output_cache", fmt.Sprintf(`{"ref_id":%q,"offset":%d}`, r.OutputRef, killedLines-1)))
	if !cached.OK || !strings.Contains(string(cached.Value), fmt.Sprintf("%d the quick", killedLines-1)) {
		t.Errorf("a model reads %+v", cached)
	}
}

// TestBucketFailsInAStream: when the bucket fails, the attempt ends within a bounded time and leaves nothing. The next attempt succeeds when the bucket works
// again.
func TestBucketFailsInAStream(t *testing.T) {
	t.Parallel()
	server, w := buckettest.New(t), e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Store.UseBucket(server.Open(t))
	config := w.Config()
	config.OutputBucket = server.Address()
	w.WorkWith(config, worker.Tools(streams()...))
	server.Refuse("")
	call := w.Start(e2etest.Invocation("call", "test__stream", `{}`))
	w.Until(func() bool { return strings.Contains(w.Log.String(), "could not be stored") }, "the attempt says that its stream is not stored")
	if n := e2etest.Scalar[int](w, `SELECT count(*) FROM output_chunks`); n != 0 {
		t.Errorf("%d chunks refer to no object", n)
	}
	server.Serve()
	r := w.Result(call)
	e2etest.WantText(t, r, "written")
	if data := read(w, r.OutputRef, output.Position{}); bytes.Count(data, []byte{'\n'}) != streamLines {
		t.Errorf("the output has %d lines", bytes.Count(data, []byte{'\n'}))
	}
	if log := w.Log.String(); strings.Contains(log, buckettest.SecretKey) || strings.Contains(log, buckettest.AccessKey) {
		t.Error("the log has a credential of the bucket")
	}
}
