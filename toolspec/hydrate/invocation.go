package hydrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// Fault is why input is refused. It holds nothing of the input but paths.
type Fault struct {
	Code    toolspec.Code
	Problem toolspec.Problem
}

// Error is the safe text.
func (f *Fault) Error() string {
	if f.Problem.Path == "" {
		return f.Problem.Message
	}
	return f.Problem.Path + ": " + f.Problem.Message
}

func fault(path, kind, format string, args ...any) *Fault {
	return &Fault{Code: toolspec.CodeValidation, Problem: toolspec.Problem{Path: path, Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

// Decode reads an invocation strictly: one JSON object of at most
// toolspec.MaxInvocation bytes, no repeated keys, no unknown field, nothing of
// the shape of a secret, every part within its bounds. It does not judge the
// arguments beyond that.
func Decode(data []byte) (toolspec.Invocation, *Fault) {
	var inv toolspec.Invocation
	if len(data) == 0 {
		return inv, fault("", KindUndecodable, "the workflow input is missing; it is one JSON object, see docs/contract.md")
	}
	if len(data) > toolspec.MaxInvocation {
		return inv, fault("", KindTooLarge, "the invocation is larger than %d bytes", toolspec.MaxInvocation)
	}
	if p := schema.CheckJSON(data); p != nil {
		f := FaultOf(p)
		// What has a name of its own goes by it here too.
		if g := check(data); g != nil && g.Code == toolspec.CodeInvalidJSON && g.Problem.Kind != f.Problem.Kind && p.Kind == schema.KindInvalidJSON {
			f.Problem.Kind, f.Problem.Message = g.Problem.Kind, g.Problem.Message
		}
		return inv, f
	}
	if f := findSecret(data); f != nil {
		return inv, f
	}
	if err := json.Unmarshal(data, &inv, json.RejectUnknownMembers(true)); err != nil {
		return toolspec.Invocation{}, decodeFault(err)
	}
	if err := inv.Check(); err != nil {
		path, message, _ := strings.Cut(err.Error(), " ")
		return toolspec.Invocation{}, fault("/"+strings.ReplaceAll(path, ".", "/"), KindInvalidField, "%s %s", path, message)
	}
	return inv, nil
}

// decodeFault names the path of what does not fit, without its value.
func decodeFault(err error) *Fault {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fault("", KindUndecodable, "the invocation does not decode")
	}
	path := string(semantic.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return fault(Clip(path), KindUnknownField, "the field is not known")
	}
	return fault(Clip(path), string(schema.KindTypeMismatch), "the field has the wrong type")
}

// findSecret looks at every string, and at every name outside of arguments, whose
// names are the schema's matter: what has the shape of a credential is refused
// before it is kept.
func findSecret(data []byte) *Fault {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fault("", string(schema.KindInvalidJSON), "Invalid JSON")
		case token.Kind() != '"':
			continue
		}
		switch text := token.String(); {
		case toolspec.SecretName(text) && isName(dec) && !isFree(string(dec.StackPointer())):
			return fault(Clip(string(dec.StackPointer())), KindSecretShaped, "secret-shaped field; credentials never travel here, send a connectionId")
		case toolspec.SecretValue(text) && (dec.StackPointer() != "/submitterProof" || !toolspec.IsSubmitterProof(text)):
			return fault(Clip(string(dec.StackPointer())), KindSecretShaped, "the value has the shape of a credential; send a connectionId instead")
		}
	}
}

// isFree reports whether a place may hold names of the caller's own choice.
func isFree(pointer string) bool {
	return strings.HasPrefix(pointer, "/args/") || strings.HasPrefix(pointer, "/provider/toolCall")
}

// isName reports whether the token just read is the name of a member.
func isName(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	return kind == '{' && length%2 == 1
}

// FaultOf is a problem of package schema as a fault. Its path, and its message where
// that is short, may name members, but none that has the shape of a credential.
func FaultOf(p *schema.Problem) *Fault {
	message := p.Message
	if len(p.Path) > mostPath || toolspec.SecretValue(message) {
		message, _, _ = strings.Cut(message, ":")
		message, _, _ = strings.Cut(message, " at ")
	}
	return fault(Clip(p.Path), string(p.Kind), "%s", message)
}

// mostPath bounds the paths that are told, in bytes.
const mostPath = 200

// Clip bounds a path to 200 bytes in whole characters, for it holds names that the
// caller chose: it ends before the first that has the shape of a credential.
func Clip(path string) string {
	for toolspec.SecretValue(path) {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	if len(path) > mostPath {
		return strings.ToValidUTF8(path[:mostPath], "") + "…"
	}
	return path
}
