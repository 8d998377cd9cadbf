package verify

import (
	"fmt"
	"slices"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// maxPath bounds a path, in bytes: names of fields are short, keys of maps need
// not be.
const maxPath = 300

// inClear are the encodings of payloads that nothing has encrypted or packed.
var inClear = []string{
	"", converter.MetadataEncodingBinary, converter.MetadataEncodingJSON, converter.MetadataEncodingNil,
	converter.MetadataEncodingProto, converter.MetadataEncodingProtoJSON,
}

// walker reads every text in one message, whatever field holds it.
type walker struct {
	*Verifier
	at Place
	// found are the secrets that were found in the message.
	found []string
	// texts are all texts of the message: a secret may be cut over several
	// fields.
	texts [][]byte
}

// walk searches all texts of a message.
func (v *Verifier) walk(at Place, m proto.Message) {
	w := walker{Verifier: v, at: at}
	w.message("", m.ProtoReflect())
	w.at.Path = "several fields"
	w.report(w.at, v.secrets.FindPieces(w.texts), w.found...)
}

func (w *walker) text(path string, text []byte) {
	if len(text) == 0 {
		return
	}
	w.found = append(w.found, w.search(placed(w.at, path), text)...)
	w.texts = append(w.texts, fingerprint.Strings(text))
}

func (w *walker) message(path string, m protoreflect.Message) {
	switch known := m.Interface().(type) {
	case *common.Payload:
		w.payload(path, known)
		return
	case *anypb.Any:
		if inner, err := known.UnmarshalNew(); err == nil {
			w.message(path, inner.ProtoReflect())
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		w.field(join(path, string(f.Name())), f, value)
		return true
	})
	// Fields of a server that is newer than this program.
	w.text(join(path, "unknown fields"), m.GetUnknown())
}

func (w *walker) field(path string, f protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch {
	case f.IsMap():
		value.Map().Range(func(key protoreflect.MapKey, item protoreflect.Value) bool {
			name := fmt.Sprintf("%s[%s]", path, key.String())
			w.text(name+" (name)", []byte(key.String()))
			w.value(name, f.MapValue(), item)
			return true
		})
	case f.IsList():
		for i := range value.List().Len() {
			w.value(fmt.Sprintf("%s[%d]", path, i), f, value.List().Get(i))
		}
	default:
		w.value(path, f, value)
	}
}

func (w *walker) value(path string, f protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		w.message(path, value.Message())
	case protoreflect.StringKind:
		w.text(path, []byte(value.String()))
	case protoreflect.BytesKind:
		w.text(path, value.Bytes())
	default: // numbers, flags and enums hold no secret
	}
}

// payload searches a payload as it is stored, and after it is decoded.
func (w *walker) payload(path string, p *common.Payload) {
	decoded := p
	if w.options.Codec != nil {
		switch all, err := w.options.Codec.Decode([]*common.Payload{p}); {
		case err != nil || len(all) != 1:
			decoded = nil
		default:
			decoded = all[0]
		}
	}
	if decoded == nil || !slices.Contains(inClear, string(decoded.GetMetadata()[converter.MetadataEncoding])) {
		at := w.at
		at.Path = path
		w.unread(at)
	}
	w.parts(path, p)
	if decoded != nil && !proto.Equal(decoded, p) {
		w.parts(path+" (decoded)", decoded)
	}
}

func (w *walker) parts(path string, p *common.Payload) {
	w.text(path, p.GetData())
	for name, value := range p.GetMetadata() {
		if name == converter.MetadataEncoding && slices.Contains(inClear, string(value)) {
			continue
		}
		w.found = append(w.found, w.search(placed(w.at, path+" (metadata)"), slices.Concat([]byte(name), []byte(" "), value))...)
	}
	for i, reference := range p.GetExternalPayloads() {
		w.message(fmt.Sprintf("%s external[%d]", path, i), reference.ProtoReflect())
	}
	if unknown := p.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		w.text(path+" unknown fields", unknown)
	}
}

func placed(at Place, path string) Place {
	at.Path = path
	return at
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
