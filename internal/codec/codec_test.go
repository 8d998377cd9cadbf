package codec

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// line is a key with 32 random bytes.
func line(id string) string {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret)
	return id + " " + base64.StdEncoding.EncodeToString(secret) + "\n"
}

func ring(t *testing.T, text string) *Ring {
	t.Helper()
	r, err := ParseRing([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of is the codec within a call of the tenant.
func of(c *Codec, tenant string) converter.PayloadCodec {
	return c.WithSerializationContext(converter.WorkflowSerializationContext{Namespace: "n", WorkflowID: "tool:" + tenant + ":run:call"})
}

func payload(t *testing.T, value any) *common.Payload {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encoded(t *testing.T, c converter.PayloadCodec, p *common.Payload) *common.Payload {
	t.Helper()
	sealed, err := c.Encode([]*common.Payload{p})
	if err != nil || len(sealed) != 1 {
		t.Fatal(sealed, err)
	}
	return sealed[0]
}

func opens(c converter.PayloadCodec, sealed, want *common.Payload) error {
	opened, err := c.Decode([]*common.Payload{sealed})
	if err == nil && !proto.Equal(opened[0], want) {
		return fmt.Errorf("opened %v", opened)
	}
	return err
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	c := New(ring(t, line("k1")), Options{})
	plain := payload(t, map[string]string{"note": "not for the server"})
	sealed := encoded(t, of(c, "acme"), plain)
	if text, _ := proto.Marshal(sealed); bytes.Contains(text, []byte("not for")) || bytes.Contains(text, []byte("json/plain")) {
		t.Errorf("the payload is readable: %s", text)
	}
	if again := encoded(t, of(c, "acme"), plain); bytes.Equal(again.GetData(), sealed.GetData()) {
		t.Error("the same twice looks the same")
	}
	if twice := encoded(t, of(c, "acme"), sealed); twice != sealed {
		t.Error("it is encrypted twice")
	}
	activity := c.WithSerializationContext(converter.ActivitySerializationContext{WorkflowID: "tool:acme:run:other", ActivityType: "execute"})
	for name, codec := range map[string]converter.PayloadCodec{"its call": of(c, "acme"), "another call": activity, "no call": c, "a sweep": c.WithSerializationContext(converter.WorkflowSerializationContext{WorkflowID: "pawl-sweep-x"})} {
		if err := opens(codec, sealed, plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What a codec server has written may be read by any call.
	if err := opens(of(c, "acme"), encoded(t, c, plain), plain); err != nil {
		t.Error(err)
	}
}

// TestMoved: a payload is bound to its tenant, its key and its encoding.
func TestMoved(t *testing.T) {
	t.Parallel()
	c := New(ring(t, line("k1")+line("k2")+line("globex/g1")+line("acme/a1")), Options{})
	plain := payload(t, "a value")
	sealed := encoded(t, of(c, "acme"), plain)
	if got := string(sealed.GetMetadata()[metaKey]); got != "acme/a1" {
		t.Fatalf("acme writes by %s", got)
	}
	other := encoded(t, of(c, "initech"), plain)
	if got := string(other.GetMetadata()[metaKey]); got != "k1" {
		t.Fatalf("initech writes by %s", got)
	}
	run := c.WithSerializationContext(converter.WorkflowSerializationContext{WorkflowID: "agent:acme:run"})
	if got := string(encoded(t, run, plain).GetMetadata()[metaKey]); got != "acme/a1" {
		t.Errorf("a run of an agent of acme writes by %s", got)
	}
	if err := opens(c.WithSerializationContext(converter.WorkflowSerializationContext{WorkflowID: "agent:globex:run"}), sealed, plain); err == nil {
		t.Error("a run of an agent of another tenant opens it")
	}
	change := func(p *common.Payload, f func(*common.Payload)) *common.Payload {
		changed, _ := proto.Clone(p).(*common.Payload)
		f(changed)
		return changed
	}
	set := func(name, value string) func(*common.Payload) {
		return func(p *common.Payload) { p.Metadata[name] = []byte(value) }
	}
	for name, tc := range map[string]struct {
		in   converter.PayloadCodec
		p    *common.Payload
		want error
	}{
		"another tenant":                  {of(c, "globex"), sealed, ErrSealed},
		"another tenant, relabelled":      {of(c, "globex"), change(sealed, set(metaTenant, "globex")), ErrSealed},
		"relabelled as nobody's":          {of(c, "globex"), change(other, set(metaTenant, "")), ErrSealed},
		"another tenant of the same key":  {of(c, "hooli"), other, ErrSealed},
		"the same, relabelled":            {of(c, "hooli"), change(other, set(metaTenant, "hooli")), ErrSealed},
		"relabelled, without a call":      {c, change(other, set(metaTenant, "hooli")), ErrSealed},
		"another key":                     {c, change(other, set(metaKey, "k2")), ErrSealed},
		"a key of another tenant":         {c, change(other, set(metaKey, "globex/g1")), ErrSealed},
		"no such key":                     {c, change(other, set(metaKey, "k3")), ErrKey},
		"a key that is none":              {c, change(other, set(metaKey, "k1\x00")), ErrSealed},
		"a bit":                           {c, change(other, func(p *common.Payload) { p.Data[len(p.Data)/2] ^= 1 }), ErrSealed},
		"the nonce":                       {c, change(other, func(p *common.Payload) { p.Data[0] ^= 1 }), ErrSealed},
		"cut off":                         {c, change(other, func(p *common.Payload) { p.Data = p.Data[:5] }), ErrSealed},
		"empty":                           {c, change(other, func(p *common.Payload) { p.Data = nil }), ErrSealed},
		"an empty ring":                   {New(&Ring{}, Options{}), other, ErrKey},
		"no ring":                         {New(nil, Options{}), other, ErrKey},
		"another key under the same name": {New(ring(t, line("k1")), Options{}), other, ErrSealed},
	} {
		opened, err := tc.in.Decode([]*common.Payload{plain, tc.p})
		if !errors.Is(err, tc.want) || opened != nil {
			t.Errorf("%s: %v, %v; want %v", name, opened, err, tc.want)
		}
	}
}

// TestRotation is fault 52: the first key writes, all read, and a key that is gone opens nothing.
func TestRotation(t *testing.T) {
	t.Parallel()
	k1, k2 := line("2026-01"), line("2026-02")
	plain := payload(t, "a value")
	before, during, after := New(ring(t, k1), Options{}), New(ring(t, k2+k1), Options{}), New(ring(t, k2), Options{})
	old, fresh := encoded(t, of(before, "acme"), plain), encoded(t, of(during, "acme"), plain)
	if string(old.GetMetadata()[metaKey]) != "2026-01" || string(fresh.GetMetadata()[metaKey]) != "2026-02" {
		t.Errorf("written by %s and %s", old.GetMetadata()[metaKey], fresh.GetMetadata()[metaKey])
	}
	// A reader has the key before anybody writes by it.
	for name, err := range map[string]error{
		"old, ready for the new": opens(New(ring(t, k1+k2), Options{}), fresh, plain), "during": errors.Join(opens(during, old, plain), opens(during, fresh, plain)),
		"after": opens(after, fresh, plain), "given a key of its own": opens(New(ring(t, line("acme/x")+k1), Options{}), old, plain),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := opens(after, old, plain); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "2026-01") {
		t.Errorf("a retired key: %v", err)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	plain := payload(t, "from before")
	keys := ring(t, line("k"))
	if err := opens(New(keys, Options{}), plain, plain); err != nil {
		t.Error(err)
	}
	if err := opens(New(keys, Options{RefusePlain: true}), plain, plain); !errors.Is(err, ErrPlain) {
		t.Errorf("opened: %v", err)
	}
	// Without keys nothing changes.
	if p := encoded(t, New(nil, Options{}), plain); p != plain {
		t.Error("it was changed")
	}
}

func TestParseRing(t *testing.T) {
	t.Parallel()
	good := strings.TrimSpace(line("k"))
	secret := strings.Fields(good)[1]
	r := ring(t, "# keys\n\n  "+good+" \r\n"+line("acme/k")+line("k.2"))
	if got := strings.Join(r.IDs(), " "); got != "k acme/k k.2" {
		t.Errorf("the keys are %s", got)
	}
	n := 0
	for c := range r.Secrets() {
		if n++; len(c.Secret) != keySize || !strings.HasPrefix(c.Label, "codec key ") {
			t.Errorf("got %s", c.Label)
		}
	}
	if n != 3 {
		t.Errorf("%d secrets", n)
	}
	for text, fault := range map[string]string{
		"": "there are none", "# nothing\n": "there are none", "k": "line 1", secret: "line 1: a line is an id",
		good + "\n" + good: "line 2: there is a key k already", "k " + secret[:40]: "not 32 bytes", "k not-base64": "not 32 bytes",
		"a b " + secret: "not 32 bytes", "ä " + secret: "line 1: the id", "a/b/c " + secret: "line 1: the id", "/k " + secret: "line 1: the id",
		"k " + base64.StdEncoding.EncodeToString(make([]byte, 32)): "again and again", "acme/k " + secret: "one without a tenant",
	} {
		_, err := ParseRing([]byte(text))
		if err == nil || !strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%q: %v, want %q", text, err, fault)
		}
	}
}

// TestFailures: the text of a failure is encrypted too, with its causes.
func TestFailures(t *testing.T) {
	t.Parallel()
	data, failures := Converters(New(ring(t, line("k")), Options{}))
	err := temporal.NewApplicationErrorWithCause("it says secret-1", "Broken", errors.New("because of secret-2"), "secret-3")
	f := failures.ErrorToFailure(err)
	if text, _ := proto.Marshal(f); bytes.Contains(text, []byte("secret-")) {
		t.Errorf("the failure is readable: %v", f)
	}
	var back *temporal.ApplicationError
	var detail string
	clone, _ := proto.Clone(f).(*failurepb.Failure)
	if got := failures.FailureToError(clone); !errors.As(got, &back) || back.Message() != "it says secret-1" || back.Details(&detail) != nil || detail != "secret-3" {
		t.Errorf("it reads %v, %q", back, detail)
	}
	// Without keys a failure reads as ever.
	_, failures = Converters(New(nil, Options{}))
	if f := failures.ErrorToFailure(err); f.GetMessage() != "it says secret-1" {
		t.Errorf("it reads %v", f)
	}
	_ = data
}

// TestMissingKeyStopsTheTask: in workflow code, what another worker can read is no outcome.
func TestMissingKeyStopsTheTask(t *testing.T) {
	t.Parallel()
	data, _ := Converters(New(ring(t, line("k1")), Options{}))
	lacks, _ := Converters(New(ring(t, line("k2")), Options{}))
	wrong, _ := Converters(New(ring(t, line("k1")), Options{}))
	p, err := data.ToPayloads("a value")
	if err != nil {
		t.Fatal(err)
	}
	within := func(d converter.DataConverter) converter.DataConverter {
		aware, ok := d.(converter.ContextAware)
		if !ok {
			t.Fatal("it does not know workflows")
		}
		d = converter.WithDataConverterSerializationContext(aware.WithWorkflowContext(nil), converter.WorkflowSerializationContext{WorkflowID: "tool:acme:r:c"})
		return d
	}
	panics := func(d converter.DataConverter, to any) (text any, err error) {
		defer func() { text = recover() }()
		return nil, d.FromPayloads(p, to)
	}
	var value string
	var raw converter.RawValue
	if text, err := panics(within(data), &value); text != nil || err != nil || value != "a value" {
		t.Errorf("got %q, %v, %v", value, text, err)
	}
	for _, to := range []any{&value, &raw} {
		if text, _ := panics(within(lacks), to); text == nil || !strings.Contains(fmt.Sprint(text), "k1") {
			t.Errorf("a missing key: %v", text)
		}
	}
	if text, err := panics(lacks, &value); text != nil || !errors.Is(err, ErrKey) {
		t.Errorf("outside of a workflow: %v, %v", text, err)
	}
	// What nobody can read is an error; where it was taken raw, admit refuses it.
	if text, err := panics(within(wrong), &value); text != nil || !errors.Is(err, ErrSealed) {
		t.Errorf("a wrong key: %v, %v", text, err)
	}
	if text, err := panics(within(wrong), &raw); text != nil || err != nil || encodingOf(raw.Payload()) != undecodable {
		t.Errorf("a wrong key, raw: %v, %v, %v", text, err, raw.Payload())
	}
}

func FuzzOpen(f *testing.F) {
	keys, err := ParseRing([]byte(line("k1") + line("acme/k1")))
	if err != nil {
		f.Fatal(err)
	}
	c := New(keys, Options{})
	sealed, err := c.Encode([]*common.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`1`)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("k1", "", sealed[0].GetData())
	f.Add("acme/k1", "acme", []byte{})
	f.Add("", "globex", make([]byte, 40))
	f.Fuzz(func(t *testing.T, key, tenant string, data []byte) {
		p := &common.Payload{Metadata: map[string][]byte{"encoding": []byte(Encoding), metaKey: []byte(key), metaTenant: []byte(tenant)}, Data: data}
		if _, err := c.Decode([]*common.Payload{p}); err == nil && !bytes.Equal(data, sealed[0].GetData()) {
			t.Errorf("%q of %q opens", key, tenant)
		}
	})
}
