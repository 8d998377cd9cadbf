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

// Hydrate takes arguments through the three stages, always in this order and
// never past one that fails: parse, validate, instantiate. It never fails
// otherwise, and does not measure the time, which is its caller's to do.
//
// The size is looked at before anything is parsed. Where the target has a
// Repairer, arguments that a mistake of syntax or a wrong type keeps from being
// used are mended, once, and go through the stages again.
func (t Target) Hydrate(raw json.RawMessage) Result {
	r := Result{ToolID: t.ToolID, Provenance: toolspec.Provenance{
		ToolID: t.ToolID, ToolDigest: t.ToolDigest, SchemaHash: t.SchemaHash, OriginalBytes: len(raw),
	}}
	most := cmp.Or(t.MaxArgs, toolspec.DefaultMaxArgs)
	// A byte takes six at the most where a string holds the JSON.
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

// accept validates parsed arguments and makes the instance of them.
func (t Target) accept(r *Result, args json.RawMessage, most int) {
	// The canonical form of 1e20 is five times as long.
	if len(args) > most {
		fail(r, toolspec.HydrationParse, toolspec.CodeValidation, tooLarge(most))
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

// mend gives the repairer its one chance. The errors stay those of the arguments
// as they were given where it does not help.
func (t Target) mend(r *Result, text []byte, most int) {
	if t.Repairer == nil {
		return
	}
	was := *r
	r.Provenance.Repairer = t.Repairer.Name()
	was.Provenance.Repairer = r.Provenance.Repairer
	mended, repairs, ok := t.Repairer.Repair(Damage{Text: text, Stage: r.Provenance.Outcome, Problems: r.Problems(), Schema: t.Schema})
	if !ok || len(mended) > most || len(repairs) == 0 {
		return
	}
	was.Provenance.Repairs = repairs[:min(len(repairs), maxNoted)]
	p, f := parse(mended)
	if f != nil || len(p.tolerances) > 0 {
		*r = was
		return
	}
	problems := r.Provenance.Problems
	if t.accept(r, p.args, most); !r.Success {
		was.Provenance.Validator = r.Provenance.Validator
		*r = was
		return
	}
	r.Provenance.Repaired, r.Provenance.Repairs, r.Provenance.Problems = true, was.Provenance.Repairs, problems
}

// onlyTypes reports whether nothing but the type of values is wrong: what is
// missing, unknown or out of range is not for a machine to guess.
func onlyTypes(problems []toolspec.ProblemAt) bool {
	for _, p := range problems {
		if p.Kind != string(jsonschema.KindTypeMismatch) {
			return false
		}
	}
	return true
}

// noted are problems without their sentences.
func noted(problems []toolspec.Problem) (list []toolspec.ProblemAt) {
	for _, p := range problems[:min(len(problems), maxNoted)] {
		list = append(list, toolspec.ProblemAt{Path: p.Path, Kind: p.Kind})
	}
	return list
}

func tooLarge(most int) toolspec.Problem {
	return toolspec.Problem{Kind: KindTooLarge, Message: fmt.Sprintf("the arguments are larger than %d bytes", most)}
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
