package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

// planter puts a secret of its own into every text of a message.
type planter struct {
	t       *testing.T
	secrets fingerprint.Set
	planted []string
}

func (p *planter) secret(where string) string {
	p.t.Helper()
	secret := fmt.Sprintf("tok_live_%05d_Qx7zW", len(p.planted))
	if err := p.secrets.Add(where, []byte(secret)); err != nil {
		p.t.Fatal(err)
	}
	p.planted = append(p.planted, where)
	return secret
}

func (p *planter) fill(path string, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if oneof := f.ContainingOneof(); oneof != nil && m.WhichOneof(oneof) != nil {
			continue
		}
		at := path + "." + string(f.Name())
		switch {
		case f.IsMap():
			if f.MapKey().Kind() != protoreflect.StringKind {
				continue
			}
			entries := m.Mutable(f).Map()
			if value, ok := p.value(at+" value", f.MapValue(), entries.NewValue, depth); ok {
				entries.Set(protoreflect.ValueOfString(p.secret(at+" name")).MapKey(), value)
			}
		case f.IsList():
			list := m.Mutable(f).List()
			if value, ok := p.value(at, f, list.NewElement, depth); ok {
				list.Append(value)
			}
		default:
			if value, ok := p.value(at, f, func() protoreflect.Value { return m.NewField(f) }, depth); ok {
				m.Set(f, value)
			}
		}
	}
}

func (p *planter) value(at string, f protoreflect.FieldDescriptor, fresh func() protoreflect.Value, depth int) (protoreflect.Value, bool) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(p.secret(at)), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(p.secret(at))), true
	case protoreflect.MessageKind:
		if depth == 0 {
			return protoreflect.Value{}, false
		}
		value := fresh()
		p.fill(at, value.Message(), depth-1)
		return value, true
	default:
		return protoreflect.Value{}, false
	}
}

// TestNoFieldIsForgotten plants a secret in every field of every kind of event, and of what the server says of a workflow and a schedule.
func TestNoFieldIsForgotten(t *testing.T) {
	t.Parallel()
	var messages []proto.Message
	var kinds []string
	oneof := (&historypb.HistoryEvent{}).ProtoReflect().Descriptor().Oneofs().ByName("attributes")
	for i := range oneof.Fields().Len() {
		e := &historypb.HistoryEvent{}
		e.ProtoReflect().Mutable(oneof.Fields().Get(i))
		messages, kinds = append(messages, e), append(kinds, string(oneof.Fields().Get(i).Name()))
	}
	messages = append(messages, &workflowservice.DescribeWorkflowExecutionResponse{}, &workflowservice.DescribeScheduleResponse{})
	kinds = append(kinds, "description", "schedule")
	if len(kinds) < 50 {
		t.Fatalf("there are %d kinds of events", len(kinds))
	}
	for i, m := range messages {
		p := planter{t: t}
		if i < oneof.Fields().Len() {
			p.fill(kinds[i], m.ProtoReflect().Mutable(oneof.Fields().Get(i)).Message(), 6)
		}
		p.fill(kinds[i], m.ProtoReflect(), 6)
		var found []string
		v := New(&p.secrets, Options{Found: func(f Finding) {
			if f.Path == "several fields" {
				t.Errorf("%s: %s was found only beside others", kinds[i], f.Secret)
			}
			found = append(found, f.Secret)
		}})
		v.walk(Place{WorkflowID: "w"}, m)
		slices.Sort(p.planted)
		slices.Sort(found)
		if len(p.planted) < 2 || !slices.Equal(found, p.planted) {
			t.Errorf("%s: found %d of %d: not %q", kinds[i], len(found), len(p.planted),
				slices.DeleteFunc(slices.Clone(p.planted), func(s string) bool { return slices.Contains(found, s) }))
		}
	}
}

// TestFieldsOfANewerServer: what this program has no name for is searched too.
func TestFieldsOfANewerServer(t *testing.T) {
	t.Parallel()
	p := planter{t: t}
	e := &historypb.HistoryEvent{EventId: 7}
	e.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 9999, protowire.BytesType), p.secret("unknown")))
	if got := p.find(Place{EventID: 7, Event: "X"}, e, nil); len(got) != 1 || got[0] != "7 X unknown fields" {
		t.Errorf("found %q", got)
	}
}

func (p *planter) find(at Place, m proto.Message, codec *codec) (found []string) {
	o := Options{Found: func(f Finding) {
		found = append(found, fmt.Sprintf("%d %s %s", f.EventID, f.Event, f.Path))
	}, Unread: func(at Place) { found = append(found, "unread "+at.Path) }}
	if codec != nil {
		o.Codec = codec
	}
	New(&p.secrets, o).walk(at, m)
	return found
}

func TestPayloadsAreDecoded(t *testing.T) {
	t.Parallel()
	payload := func(encoding, data string) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{Input: &common.Payloads{
				Payloads: []*common.Payload{{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}},
			}},
		}}
	}
	const path = "workflow_execution_signaled_event_attributes.input.payloads[0]"
	p := planter{t: t}
	secret := p.secret("it")
	for _, tc := range []struct {
		name, encoding, data string
		codec                *codec
		want                 string
	}{
		{"clear", "json/plain", `"` + secret + `"`, nil, "0  " + path},
		{"pieces", "json/plain", `["tok_live_00","000_Qx7zW"]`, nil, "0  " + path},
		{"encrypted", "binary/test", rot(`"` + secret + `"`), &codec{}, "0  " + path + " (decoded)"},
		{"no key", "binary/test", "no", &codec{}, "unread " + path},
		{"no codec", "binary/test", rot(secret), nil, "unread " + path},
		{"no codec, and clear", "binary/zlib", secret, nil, "unread " + path + " 0  " + path},
		{"nothing", "json/plain", `"nothing"`, &codec{}, ""},
	} {
		if got := strings.Join(p.find(Place{}, payload(tc.encoding, tc.data), tc.codec), " "); got != tc.want {
			t.Errorf("%s: found %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestPlacesHoldNoSecret(t *testing.T) {
	t.Parallel()
	p := planter{t: t}
	secret := p.secret("label")
	var found Finding
	v := New(&p.secrets, Options{Found: func(f Finding) { found = f }})
	v.walk(Place{WorkflowID: "tool:acme:" + secret, RunID: "r"}, &common.Memo{Fields: map[string]*common.Payload{secret: {}}})
	if text := fmt.Sprintf("%+v %s", found, found); strings.Contains(text, secret) || found.WorkflowID != "tool:acme:[redacted]" || v.Report().Findings != 1 {
		t.Errorf("found %s", text)
	}
}

// TestPlacesAreCutLast: of a name that is too long to be told no half of a secret is left.
func TestPlacesAreCutLast(t *testing.T) {
	t.Parallel()
	p := planter{t: t}
	secret := p.secret("label")
	var found Finding
	v := New(&p.secrets, Options{Found: func(f Finding) { found = f }})
	long := strings.Repeat("n", maxPath-len("fields[")-len(secret)/2) + secret
	v.walk(Place{WorkflowID: "w"}, &common.Memo{Fields: map[string]*common.Payload{long: {}}})
	if strings.Contains(found.Path, secret[:8]) || !strings.HasSuffix(found.Path, "…") || len(found.Path) > maxPath+len("…") {
		t.Errorf("the path is %q", found.Path)
	}
	v.report(Place{Table: "t", Key: "id=" + strings.Repeat("k", maxKey-10) + secret}, []fingerprint.Match{{Label: "label", Form: "plain"}})
	if strings.Contains(found.Key, secret[:7]) || len(found.Key) > maxKey+len("…") {
		t.Errorf("the key is %q", found.Key)
	}
}

// TestFieldsInAnyOrder cuts a secret over two fields of an event, in both orders.
func TestFieldsInAnyOrder(t *testing.T) {
	t.Parallel()
	p := planter{t: t}
	first, second := fingerprinttest.Halves(p.secret("label"))
	for _, halves := range [][2]string{{first, second}, {second, first}} {
		e := &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityId: halves[0], ActivityType: &common.ActivityType{Name: halves[1]}},
		}}
		if got := p.find(Place{}, e, nil); len(got) != 1 || got[0] != "0  several fields" {
			t.Errorf("found %q", got)
		}
	}
}

// TestEveryEncodingInAHistory: the search of histories knows every encoding.
func TestEveryEncodingInAHistory(t *testing.T) {
	t.Parallel()
	for label, secret := range fingerprinttest.Secrets() {
		p := planter{t: t}
		if err := p.secrets.Add(label, []byte(secret)); err != nil {
			t.Fatal(err)
		}
		for _, e := range fingerprinttest.Encodings() {
			if !e.Takes(secret) {
				continue
			}
			data := e.Encode(secret)
			if utf8.ValidString(data) {
				data = fingerprinttest.JSON(map[string]string{"text": data})
			}
			if got := p.find(Place{}, &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(data)}, nil); len(got) != 1 {
				t.Errorf("%s as %s: found %q in %s", label, e.Name, got, data)
			}
		}
	}
}

// codec stands for one that encrypts.
type codec struct{}

func (*codec) Encode(p []*common.Payload) ([]*common.Payload, error) { return p, nil }

func (*codec) Decode(p []*common.Payload) ([]*common.Payload, error) {
	if string(p[0].GetMetadata()["encoding"]) != "binary/test" {
		return p, nil
	}
	if string(p[0].GetData()) == "no" {
		return nil, errors.New("no such key")
	}
	return []*common.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(rot(string(p[0].GetData())))}}, nil
}

func rot(s string) string {
	return strings.Map(func(r rune) rune { return r ^ 0x55 }, s)
}
