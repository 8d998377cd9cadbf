package hydrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Fault is the reason for which input is refused. It contains no input except paths.
type Fault struct {
	Code    toolspec.Code
	Problem toolspec.Problem
}

// Error returns a message that is safe to show.
func (f *Fault) Error() string {
	if f.Problem.Path == "" {
		return f.Problem.Message
	}
	return f.Problem.Path + ": " + f.Problem.Message
}

func fault(path, kind, format string, args ...any) *Fault {
	return &Fault{Code: toolspec.CodeValidation, Problem: toolspec.Problem{Path: path, Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

// Decode reads an invocation strictly: one JSON object of at most toolspec.MaxInvocation bytes, no
// repeated keys, no unknown fields, no secret-shaped values, every part within its bounds. It does
// not check the arguments further.
func Decode(data []byte) (toolspec.Invocation, *Fault) {
	var inv toolspec.Invocation
	if len(data) == 0 {
		return inv, fault("", KindUndecodable, "the workflow input is missing; it is one JSON object, see docs/contract.md")
	}
	if len(data) > toolspec.MaxInvocation {
		return inv, fault("", KindTooLarge, "the invocation is larger than %d bytes", toolspec.MaxInvocation)
	}
	t, refused := strictjson.Read(data)
	defer t.Release()
	if refused != nil {
		f := FaultOf(refused)
		// Use the specific kind of fault if there is one.
		if g := check(data); g != nil && g.Code == toolspec.CodeInvalidJSON && g.Problem.Kind != f.Problem.Kind && refused.Kind() == strictjson.InvalidJSON {
			f.Problem.Kind, f.Problem.Message = g.Problem.Kind, g.Problem.Message
		}
		return inv, f
	}
	if f := findSecret(t); f != nil {
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

// decodeFault names the path of the field that does not decode, without its value.
func decodeFault(err error) *Fault {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fault("", KindUndecodable, "the invocation does not decode")
	}
	path := string(semantic.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return fault(Clip(path), KindUnknownField, "the field is not known")
	}
	return fault(Clip(path), string(jsonschema.KindTypeMismatch), "the field has the wrong type")
}

// findSecret refuses strings that look like a credential, and member names that look like one. It
// ignores member names inside of arguments, which the schema of the tool checks.
func findSecret(t *strictjson.Tape) *Fault {
	free := freeNames(t)
	for i, item := range t.Items {
		if item.Kind != '"' && item.Kind != 'k' {
			continue
		}
		text := t.Text(i)
		if item.Kind == 'k' && !free(i) && toolspec.SecretName(text) {
			return fault(Clip(t.Path(i).Pointer()), KindSecretShaped, "secret-shaped field; credentials never travel here, send a connectionId")
		}
		if toolspec.SecretValue(text) {
			if at := t.Path(i).Pointer(); at != "/submitterProof" || !toolspec.IsSubmitterProof(text) {
				return fault(Clip(at), KindSecretShaped, "the value has the shape of a credential; send a connectionId instead")
			}
		}
	}
	return nil
}

// freeNames returns a function that reports whether an item is inside of a value whose member names
// the caller chooses: args, and the tool call of a provider. It uses no paths, because a path costs
// as much as all items before it.
func freeNames(t *strictjson.Tape) func(i int) bool {
	type inside struct{ from, to int }
	var free []inside
	add := func(value int) { free = append(free, inside{value, int(t.Items[value].Next)}) }
	members := func(object int, each func(name string, value int)) {
		if object < len(t.Items) && t.Items[object].Kind == '{' {
			for i := object + 1; i < int(t.Items[object].Next); i = int(t.Items[i+1].Next) {
				each(t.Text(i), i+1)
			}
		}
	}
	members(0, func(name string, value int) {
		switch name {
		case "args":
			add(value)
		case "provider":
			members(value, func(name string, value int) {
				if strings.HasPrefix(name, "toolCall") {
					add(value)
				}
			})
		}
	})
	return func(i int) bool {
		return slices.ContainsFunc(free, func(r inside) bool { return i > r.from && i < r.to })
	}
}

// FaultOf converts a fault of JSON. Its path and message may contain names of members, but none
// that looks like a credential.
func FaultOf(f *strictjson.Fault) *Fault {
	path, message := f.Path.Short(), f.Error()
	if len(path) > mostPath || toolspec.SecretValue(message) {
		message, _, _ = strings.Cut(message, ":")
		message, _, _ = strings.Cut(message, " at ")
	}
	return fault(Clip(path), f.Kind(), "%s", message)
}

// mostPath bounds the paths in faults, in bytes.
const mostPath = 200

// Clip cuts a path to 200 bytes in whole characters, because the caller chooses the names in it. It
// also cuts the path before the first name that looks like a credential.
func Clip(path string) string {
	for toolspec.SecretValue(path) {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	if len(path) > mostPath {
		return strings.ToValidUTF8(path[:mostPath], "") + "…"
	}
	return path
}
