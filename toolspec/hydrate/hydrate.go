package hydrate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// maxNoted bounds the problems that provenance lists.
const maxNoted = 16

// Hydrate takes arguments through the three stages: parse, validate, instantiate. A stage that
// fails ends the hydration. Hydrate returns no other errors and measures no time.
//
// It checks the size before it parses. If the target has a Repairer, arguments with a syntax error
// or a wrong type are repaired once and go through the stages again.
func (t Target) Hydrate(raw json.RawMessage) Result {
	r := Result{ToolID: t.ToolID, Provenance: toolspec.Provenance{
		ToolID: t.ToolID, ToolDigest: t.ToolDigest, SchemaHash: t.SchemaHash, OriginalBytes: len(raw),
	}}
	most := cmp.Or(t.MaxArgs, toolspec.DefaultMaxArgs)
	// In a JSON string one byte of the arguments takes at most six bytes.
	if len(raw) > 6*most+2 {
		fail(&r, toolspec.HydrationParse, toolspec.CodeValidation, tooLarge(most))
		return r
	}
	r.Provenance.OriginalDigest = digestOf(raw)
	text, _ := unwrapped(given(raw))
	if len(text) > most {
		fail(&r, toolspec.HydrationParse, toolspec.CodeValidation, tooLarge(most))
		return r
	}
	p, f := parse(raw)
	r.Provenance.Tolerances = p.tolerances
	if f != nil {
		fail(&r, toolspec.HydrationParse, f.Code, f.Problem)
		r.Provenance.Original = skeleton(text)
		if f.Problem.Kind == string(jsonschema.KindInvalidJSON) {
			t.mend(&r, text, most)
		}
		return r
	}
	if t.accept(&r, p.args, most); r.Success {
		return r
	}
	if r.Provenance.Outcome == toolspec.HydrationValidate {
		r.Provenance.Original = shapeOf(decoded(p.args))
		if t.Validator != nil && onlyTypes(r.Provenance.Problems) {
			t.mend(&r, p.text, most)
		}
	}
	return r
}

// accept validates parsed arguments and creates their instance.
func (t Target) accept(r *Result, args json.RawMessage, limit int) {
	// The canonical form can be larger: that of 1e20 is five times as long.
	if len(args) > limit {
		fail(r, toolspec.HydrationParse, toolspec.CodeValidation, tooLarge(limit))
		return
	}
	switch {
	case t.Validator != nil:
		info := t.Validator.Info()
		r.Provenance.Validator = &info
		if problems := t.Validator.Validate(args); len(problems) > 0 {
			fail(r, toolspec.HydrationValidate, toolspec.CodeValidation, explained(problems, args, t.Schema)...)
			return
		}
	case !t.AllowNoSchema:
		fail(r, toolspec.HydrationValidate, toolspec.CodeValidation, toolspec.Problem{
			Kind: KindNoSchema, Message: "the tool has no schema to check its arguments against, and is not declared to need none: nothing runs",
		})
		return
	}
	r.Success, r.Errors, r.code, r.Provenance.Outcome = true, nil, "", toolspec.HydrationSuccess
	r.instance = &Instance{toolID: t.ToolID, args: args}
}

// mend asks the repairer once. If the repair does not help, the errors stay those of the original
// arguments.
func (t Target) mend(r *Result, text []byte, limit int) {
	if t.Repairer == nil {
		return
	}
	was := *r
	r.Provenance.Repairer = t.Repairer.Name()
	was.Provenance.Repairer = r.Provenance.Repairer
	mended, repairs, ok := t.Repairer.Repair(Damage{Text: text, Stage: r.Provenance.Outcome, Problems: r.Problems(), Schema: t.Schema})
	if !ok || len(mended) > limit || len(repairs) == 0 {
		return
	}
	was.Provenance.Repairs = repairs[:min(len(repairs), maxNoted)]
	p, f := parse(mended)
	if f != nil || len(p.tolerances) > 0 {
		*r = was
		return
	}
	problems := r.Provenance.Problems
	if t.accept(r, p.args, limit); !r.Success {
		was.Provenance.Validator = r.Provenance.Validator
		*r = was
		return
	}
	r.Provenance.Repaired, r.Provenance.Repairs, r.Provenance.Problems = true, was.Provenance.Repairs, problems
}

// onlyTypes reports whether every problem is a wrong type. Missing, unknown and out-of-range values
// are not repaired, because that would be a guess.
func onlyTypes(problems []toolspec.ProblemAt) bool {
	for _, p := range problems {
		if p.Kind != string(jsonschema.KindTypeMismatch) {
			return false
		}
	}
	return true
}

// noted returns problems without their messages.
func noted(problems []toolspec.Problem) (list []toolspec.ProblemAt) {
	for _, p := range problems[:min(len(problems), maxNoted)] {
		list = append(list, toolspec.ProblemAt{Path: p.Path, Kind: p.Kind})
	}
	return list
}

func tooLarge(limit int) toolspec.Problem {
	return toolspec.Problem{Kind: KindTooLarge, Message: fmt.Sprintf("the arguments are larger than %d bytes", limit)}
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
