package postgres_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
)

// TestPools lets workers of two pools and of the shared queue stop renewing, and checks which tools still get calls, which calls wait, and which pools need
// another worker.
func TestPools(t *testing.T) {
	b := open(t)
	b.UseNamespace("ns")
	publish := func(worker, namespace, pool string, specs ...toolspec.Spec) {
		t.Helper()
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: worker, Namespace: namespace, Pool: pool}, specs); err != nil {
			t.Fatal(err)
		}
	}
	quiet := func(worker, since string) {
		b.sql(`UPDATE workers SET seen_at = now() - $2::interval WHERE worker_id = $1`, worker, since)
	}
	want := func(of string, live bool, pools string, all ...catalog.Pool) {
		t.Helper()
		if got, err := b.IsLive(t.Context(), "ns", of); err != nil || got != live {
			t.Errorf("%s is live: %t, %v", of, got, err)
		}
		if got, err := b.PoolsOf(t.Context(), "ns", of); err != nil || fmt.Sprintf("%q", got) != pools {
			t.Errorf("%s is in %q, %v; want %s", of, got, err, pools)
		}
		if got, err := b.Pools(t.Context(), "ns"); err != nil || fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("the pools are %+v, %v; want %+v", got, err, all)
		}
	}
	want("m__clip", false, "[]")
	publish("m1", "ns", "media", published("m__clip", "1", ""), published("m__both", "1", ""))
	publish("a1", "ns", "audio", published("m__clip", "2", ""))
	publish("o1", "other", "media", published("m__other", "1", ""))
	b.sql(`UPDATE pools SET seen_at = now() - interval '2 minutes' WHERE pool = 'media'`)
	if shared, err := b.HasShared(t.Context(), "ns"); err != nil || shared {
		t.Errorf("the shared queue has a worker: %t, %v", shared, err)
	}
	publish("s1", "ns", "", published("m__both", "1", ""))
	if shared, err := b.HasShared(t.Context(), "ns"); err != nil || !shared {
		t.Errorf("the shared queue has a worker: %t, %v", shared, err)
	}
	audio, media := catalog.Pool{Name: "audio", Running: 1, Live: 1}, catalog.Pool{Name: "media", Running: 1, Live: 1}
	want("m__clip", true, `["audio" "media"]`, audio, media)
	want("m__both", true, `["" "media"]`, audio, media)
	want("m__other", false, "[]", audio, media)
	if got, err := b.ToolPools(t.Context()); err != nil || !reflect.DeepEqual(got, map[string][]string{"m__clip": {"audio", "media"}}) {
		t.Errorf("the pools of tools are %v, %v", got, err)
	}
	if got, err := b.ToolConflicts(t.Context(), "ns"); err != nil || fmt.Sprint(got) != "[m__clip]" {
		t.Errorf("the conflicts are %v, %v", got, err)
	}
	// No call moves to a worker that may have stopped, and calls of its tools wait.
	quiet("m1", "46 seconds")
	media.Running = 0
	want("m__clip", true, `["audio"]`, audio, media)
	quiet("m1", "14 minutes")
	quiet("a1", "14 minutes")
	quiet("s1", "14 minutes")
	audio, media = catalog.Pool{Name: "audio"}, catalog.Pool{Name: "media"}
	want("m__clip", true, "[]", audio, media)
	quiet("m1", "16 minutes")
	quiet("a1", "16 minutes")
	want("m__clip", false, "[]", audio, media)
	publish("m1", "ns", "media")
	want("m__clip", false, "[]", catalog.Pool{Name: "media", Running: 1, Live: 1}, audio)

	// A pool is remembered for longer than a call can wait for an approval, and for as long as its workers renew themselves.
	b.sql(`UPDATE pools SET seen_at = now() - interval '32 days'`)
	if found, err := b.RenewWorker(t.Context(), "m1"); err != nil || !found {
		t.Fatalf("renewing m1: %t, %v", found, err)
	}
	want("m__clip", false, "[]", catalog.Pool{Name: "media", Running: 1, Live: 1})
	publish("m1", "ns", "media")
	if n := value[int](b, `SELECT count(*) FROM pools`); n != 1 {
		t.Errorf("%d pools are kept", n)
	}
}
