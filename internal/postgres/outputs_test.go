package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

// reclaim runs the upkeep of outputs until nothing is left to do.
func (b bench) reclaim() {
	b.t.Helper()
	for {
		n, err := b.DeleteExpiredOutputs(b.t.Context(), 100)
		if err != nil {
			b.t.Fatal(err)
		}
		objects, err := b.DeleteOutputObjects(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		if n+objects == 0 {
			return
		}
	}
}

func streamRow(call string) attempt.StreamRow {
	return attempt.StreamRow{InvocationID: id(call), TenantID: tenant, Dispatch: 1, ClaimID: "claim-" + call, MediaType: toolspec.TextStream.MediaType(), Text: true}
}

// streamed stores an output of an open call in writes of different sizes.
func (b bench) streamed(row attempt.StreamRow, data []byte) (ref string) {
	b.t.Helper()
	w := b.NewOutput(row)
	random := rand.New(rand.NewPCG(1, 2))
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(300_000))
		if err := w.Write(b.t.Context(), rest[:n]); err != nil {
			b.t.Fatal(err)
		}
		rest = rest[n:]
	}
	ref, err := w.Finish(b.t.Context(), row.MediaType)
	if err != nil {
		b.t.Fatal(err)
	}
	return ref
}

// read returns the chunks of an output from a position, joined.
func (b bench) read(ref string, from output.Position) (all []byte, first output.Chunk) {
	b.t.Helper()
	line, end := int64(-1), int64(-1)
	for c, err := range b.Chunks(b.t.Context(), tenant, ref, from) {
		if err != nil {
			b.t.Fatal(err)
		}
		if line < 0 {
			first = c
		} else if c.FirstByte != end || c.FirstLine != line {
			b.t.Fatalf("a chunk begins at byte %d, line %d, want %d, %d", c.FirstByte, c.FirstLine, end, line)
		}
		line, end = c.FirstLine+int64(bytes.Count(c.Data, []byte{'\n'})), c.FirstByte+int64(len(c.Data))
		all = append(all, c.Data...)
	}
	return all, first
}

// lines returns a text of several chunks with lines of different lengths. One line is longer than two chunks, and the last line has no newline.
func lines(n int) []byte {
	var text bytes.Buffer
	random := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("é", random.IntN(60)))
		if i == n/2 {
			text.Write(bytes.Repeat([]byte("x"), 1_300_000))
		}
	}
	text.WriteString("the end")
	return text.Bytes()
}

func TestOutputIsReadByByteAndLine(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	data := lines(40_000)
	ref := b.streamed(streamRow("call_1"), data)
	info, err := b.Info(t.Context(), tenant, ref)
	sum := sha256.Sum256(data)
	if err != nil || !info.Complete || info.Bytes != int64(len(data)) || info.Lines != 40_001 || info.SHA256 != hex.EncodeToString(sum[:]) ||
		info.RunID != "run_1" || info.InvocationID != id("call_1") || !info.ExpiresAt.After(info.CreatedAt) {
		t.Errorf("%+v, %v", info, err)
	}
	all, _ := b.read(ref, output.Position{})
	if !bytes.Equal(all, data) {
		t.Errorf("%d bytes are read, and are not the %d that were written", len(all), len(data))
	}
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	for _, at := range []int{1, 2, 19_999, 20_000, 20_001, 20_002, 33_333, 39_999, 40_000} {
		_, first := b.read(ref, output.Position{Line: int64(at)})
		if start := int64(starts[at]); first.FirstByte > start || start >= first.FirstByte+int64(len(first.Data)) || first.FirstLine > int64(at) {
			t.Errorf("line %d begins at byte %d, and the chunk has %d to %d", at, start, first.FirstByte, first.FirstByte+int64(len(first.Data)))
		}
	}
	for _, at := range []int{1, 524_287, 524_288, 1_000_000, len(data) - 1} {
		rest, first := b.read(ref, output.Position{Byte: int64(at)})
		if first.FirstByte > int64(at) || !bytes.Equal(rest[int64(at)-first.FirstByte:], data[at:]) {
			t.Errorf("from byte %d: a chunk at %d", at, first.FirstByte)
		}
	}
	for _, after := range []output.Position{{Byte: int64(len(data))}, {Line: 40_001}} {
		if rest, _ := b.read(ref, after); len(rest) > 0 {
			t.Errorf("%d bytes after the end", len(rest))
		}
	}
}

// TestEveryLineOfAnOutput: the index finds each line, also a line that begins at the first byte of a chunk.
func TestEveryLineOfAnOutput(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	line := strings.Repeat("y", 65_535) + "\n"
	ref := b.streamed(streamRow("call_1"), []byte(strings.Repeat(line, 40)))
	for at := range 40 {
		_, first := b.read(ref, output.Position{Line: int64(at)})
		if start := int64(at * len(line)); first.FirstByte > start || start >= first.FirstByte+int64(len(first.Data)) {
			t.Errorf("line %d: the chunk has bytes %d to %d", at, first.FirstByte, first.FirstByte+int64(len(first.Data)))
		}
	}
	if rest, _ := b.read(ref, output.Position{Line: 40}); len(rest) > 0 {
		t.Errorf("%d bytes after the last line", len(rest))
	}
}

func TestOutputOfAnotherTenant(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), []byte("text"))
	for _, who := range []string{"other", ""} {
		if info, err := b.Info(t.Context(), who, ref); !errors.Is(err, output.ErrNotFound) || info.Ref != "" {
			t.Errorf("%+v, %v", info, err)
		}
		for c, err := range b.Chunks(t.Context(), who, ref, output.Position{}) {
			if !errors.Is(err, output.ErrNotFound) || len(c.Data) > 0 {
				t.Errorf("%q reads %q, %v", who, c.Data, err)
			}
		}
		if err := b.DeleteOutput(t.Context(), who, ref, "user:ann"); !errors.Is(err, output.ErrNotFound) {
			t.Errorf("%q deletes: %v", who, err)
		}
	}
	row := streamRow("call_1")
	row.TenantID = "other"
	if err := b.NewOutput(row).Write(t.Context(), make([]byte, 1<<20)); err == nil {
		t.Error("another tenant writes an output of the call")
	}
	if all, _ := b.read(ref, output.Position{}); string(all) != "text" {
		t.Errorf("%q is left", all)
	}
}

// TestOutputIsNotCompleteBeforeItsEnd: an output that its writer has not finished is no result, and upkeep gives its storage back.
func TestOutputIsNotCompleteBeforeItsEnd(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	row := streamRow("call_1")
	w := b.NewOutput(row)
	data := bytes.Repeat([]byte("half a line "), 100_000)
	if err := w.Write(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	ref := value[string](b, `SELECT ref FROM outputs`)
	info, err := b.Info(t.Context(), tenant, ref)
	if err != nil || info.Complete || info.SHA256 != "" {
		t.Errorf("%+v, %v", info, err)
	}
	if part, _ := b.read(ref, output.Position{}); len(part) == 0 || !bytes.HasPrefix(data, part) {
		t.Errorf("a reader that follows gets %d bytes", len(part))
	}
	if v, err := b.Output(t.Context(), tenant, ref); err == nil {
		t.Errorf("a value of %d bytes", len(v))
	}
	b.reclaim()
	if err := w.Write(t.Context(), data); err != nil {
		t.Errorf("upkeep takes the output of an open call: %v", err)
	}
	b.settle(settleIn("call_1", 1))
	b.reclaim()
	if n := value[int](b, `SELECT count(*) FROM output_chunks`); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
	if n := value[int](b, `SELECT stored FROM output_usage`); n != 0 {
		t.Errorf("%d bytes are counted for no chunk", n)
	}
	if _, err := w.Finish(t.Context(), row.MediaType); err == nil {
		t.Error("an output that upkeep took is finished")
	}
}

// TestOutputQuota: concurrent writers of a tenant store no more than its quota, and the outputs that fit are complete.
func TestOutputQuota(t *testing.T) {
	t.Parallel()
	b := open(t)
	const quota, writers = 6 << 20, 8
	b.LimitOutputs(postgres.OutputLimits{Quota: quota})
	noise := make([]byte, 2<<20) // random bytes, which do not compress
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	for i := range writers {
		b.admit(fmt.Sprint("call_", i))
	}
	var full, whole int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			row := streamRow(fmt.Sprint("call_", i))
			row.Text = false
			w := b.NewOutput(row)
			err := w.Write(t.Context(), noise)
			if err == nil {
				_, err = w.Finish(t.Context(), row.MediaType)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				whole++
			case errors.Is(err, output.ErrQuota):
				full++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.counted()
	if stored := value[int](b, `SELECT stored FROM output_usage`); stored > quota {
		t.Errorf("%d bytes are counted, of at most %d", stored, quota)
	}
	if full == 0 || whole+full != writers {
		t.Errorf("%d writers had room and %d had none", whole, full)
	}
	if _, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_0"), TenantID: tenant, Dispatch: 2, Value: []byte(`"` + hex.EncodeToString(noise) + `"`)}); !errors.Is(err, output.ErrQuota) {
		t.Errorf("a value beyond the quota: %v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM outputs WHERE dispatch = 2`); n != 0 {
		t.Error("a refused value has left a row")
	}
	// A deleted output makes room.
	b.sql(`UPDATE outputs SET expires_at = now()`)
	b.reclaim()
	b.streamed(streamRow("call_1"), noise)
}

// TestALargeValueIsRead: a value of several chunks is read byte for byte. It has the character NUL and an order of keys that a jsonb column would not keep.
func TestALargeValueIsRead(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	large := []byte(`{"b":"` + strings.Repeat(`x\u0000`, 300_000) + `","a":1.0}`)
	ref, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 1, Value: large})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := b.Output(t.Context(), tenant, ref); err != nil || !bytes.Equal(v, large) {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	info, err := b.Info(t.Context(), tenant, ref)
	if err != nil || info.MediaType != "application/json" || info.Lines != 1 || info.Bytes != int64(len(large)) {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestValuesOfEarlierReleases: the rows of the table payloads, which earlier releases wrote, can still be read as values and as outputs.
func TestValuesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	b.sql(`INSERT INTO payloads (month, ref, invocation_id, tenant_id, dispatch, value) SELECT month, 'old', invocation_id, tenant_id, 1, '{"a":1.0}' FROM invocations`)
	b.settle(settleIn("call_1", 1))
	for _, ref := range []string{"old", toolspec.ResultRef(id("call_1"))} {
		v, err := b.Output(t.Context(), tenant, ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		info, err := b.Info(t.Context(), tenant, ref)
		if err != nil || !info.Complete || info.Bytes != int64(len(v)) || info.ToolID == "" {
			t.Errorf("%s: %+v, %v", ref, info, err)
		}
		if all, _ := b.read(ref, output.Position{}); !bytes.Equal(all, v) || len(v) == 0 {
			t.Errorf("%s: %s", ref, all)
		}
	}
}

// TestAReaderThatStops: a reader that stops early keeps no connection, and leaves no goroutine, which TestMain checks.
func TestAReaderThatStops(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), bytes.Repeat([]byte("0123456789abcdef"), 300_000))
	for range 10 {
		for _, err := range b.Chunks(t.Context(), tenant, ref, output.Position{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range b.Chunks(ended, tenant, ref, output.Position{}) {
		if err == nil {
			t.Error("a cancelled reader reads")
		}
	}
}
