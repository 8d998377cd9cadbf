package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

func named(id string, change ...func(*toolspec.Definition)) toolspec.Tool {
	d := definition()
	d.ID = id
	for _, c := range change {
		c(&d)
	}
	return tool[in, out](d)
}

func idsOf(r *catalog.Registry) string {
	var ids []string
	for _, s := range r.Specs() {
		ids = append(ids, s.Name+" "+s.Origin+" "+s.ProvidedBy)
	}
	return strings.Join(ids, ", ")
}

// TestReplace (RG-04, RG-06, RG-20): the tools of a source are replaced together; what is wrong with a tool affects that tool only.
func TestReplace(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(provided(t))
	if err := r.Add("builtin", named("core__read")); err != nil {
		t.Fatal(err)
	}
	words, other := source.Info{Kind: source.Extension, Name: "words"}, source.Info{Kind: source.Extension, Name: "other"}
	byTool := func(d *toolspec.Definition) { d.ProvidedBy = "document" }
	changed, left := r.Replace(words, []toolspec.Tool{named("w__a"), named("w__b", byTool), named("core__read"), named("w__a"), named("w__bad", func(d *toolspec.Definition) { d.Effect = "" })}, nil)
	if got, want := idsOf(r), "core__read builtin , w__a extension words, w__b extension document"; got != want || !changed {
		t.Errorf("there are %s, changed %t", got, changed)
	}
	var why []string
	for _, l := range left {
		why = append(why, fmt.Sprintf("%s %s: %s", l.ToolID, l.Reason, l.Error()))
	}
	if got, want := strings.Join(why, "\n"), "w__a repeated: tool w__a: the source offers two tools with this id\n"+
		"w__bad invalid: tool w__bad: effect is missing: read_only, state_change or external_side_effect\n"+
		"core__read taken: tool core__read: the id is taken by a tool of builtin"; got != want {
		t.Errorf("left out:\n%s\nwant\n%s", got, want)
	}

	before, _ := r.Get("w__a")
	if changed, left := r.Replace(words, []toolspec.Tool{named("w__a"), named("w__b", byTool)}, nil); changed || len(left) > 0 {
		t.Errorf("the same tools again: %t, %v", changed, left)
	}
	if changed, _ := r.Replace(words, []toolspec.Tool{named("w__a", func(d *toolspec.Definition) { d.Description = "Other words." }), named("w__b", byTool)}, nil); !changed {
		t.Error("a changed description is no change")
	}
	if before.Spec().Description != "Reads." {
		t.Error("the tool that a call has was changed")
	}
	if _, left := r.Replace(other, []toolspec.Tool{named("w__a"), named("o__a")}, nil); len(left) != 1 || left[0].By != words {
		t.Errorf("an id of another source: %+v", left)
	}
	if changed, _ := r.Replace(words, nil, nil); !changed {
		t.Error("no tool is left, and that is no change")
	}
	if got, want := idsOf(r), "core__read builtin , o__a extension other"; got != want {
		t.Errorf("there are %s", got)
	}
	if changed, left := r.Replace(other, []toolspec.Tool{named("w__a")}, nil); !changed || len(left) > 0 || idsOf(r) != "core__read builtin , w__a extension other" {
		t.Errorf("an id that is free again: %v; there are %s", left, idsOf(r))
	}
}

// TestReplaceIsAtomic: a reader sees the tools of one offer, never a part of it.
func TestReplaceIsAtomic(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(provided(t))
	from := source.Info{Kind: source.Extension, Name: "two"}
	offers := [][]toolspec.Tool{{named("a__1"), named("a__2")}, {named("b__1"), named("b__2")}}
	r.Replace(from, offers[0], nil)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if got := idsOf(r); !slices.Contains([]string{"a__1 extension two, a__2 extension two", "b__1 extension two, b__2 extension two"}, got) {
					t.Errorf("a reader saw %s", got)
					return
				}
			}
		})
	}
	for i := range 50 {
		r.Replace(from, offers[i%2], nil)
	}
	stop()
	readers.Wait()
}
