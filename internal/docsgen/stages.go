package docsgen

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// point is a stage with the type of its view.
type point struct {
	stage hook.Stage
	view  reflect.Type
}

func at[V any](p hook.Point[V]) point { return point{p.Stage(), reflect.TypeFor[V]()} }

// points pairs each stage with the type of its view, which the compiler infers from the hook.Point.
var points = []point{
	at(hook.WillCreateInvokeContext), at(hook.DidCreateInvokeContext), at(hook.WillBindProviders), at(hook.WillAuthorize),
	at(hook.WillCheckConsent), at(hook.WillCheckFeatureFlags), at(hook.WillAcquireQuota), at(hook.WillAcquireSemaphore),
	at(hook.WillParseInput), at(hook.WillValidateInput), at(hook.WillNormalizeInput), at(hook.WillRedactInput),
	at(hook.WillInjectSecrets), at(hook.WillReadCache), at(hook.DidCacheHit), at(hook.DidCacheMiss),
	at(hook.OnRetry), at(hook.AroundExecute), at(hook.WillExecute), at(hook.DidExecute), at(hook.OnGiveUp),
	at(hook.WillWriteCache), at(hook.WillRedactOutput), at(hook.WillValidateOutput), at(hook.WillTransformOutput),
	at(hook.OnError), at(hook.WillAudit), at(hook.DidAudit), at(hook.OnMetrics),
	at(hook.DidReleaseSemaphore), at(hook.DidReleaseQuota), at(hook.WillFinalizeInvoke),
}

// stageTables returns three tables: the stages in their order, the rights of each view, and the
// methods of each right.
func stageTables(src *source) (map[string]string, error) {
	var stages, views, rights [][]string
	var seenViews []reflect.Type
	var seenRights []reflect.Type
	for i, info := range hook.All() {
		at := slices.IndexFunc(points, func(p point) bool { return p.stage == info.Stage })
		if at < 0 {
			return nil, fmt.Errorf("the stage %s is missing among the points of stages.go", info.Stage)
		}
		view := points[at].view.Elem()
		stages = append(stages, []string{strconv.Itoa(i + 1), code(string(info.Stage)), string(info.Phase), code("*hook." + view.Name()), string(info.Failure)})
		if !slices.Contains(seenViews, view) {
			seenViews = append(seenViews, view)
		}
	}
	if len(stages) != len(points) {
		return nil, fmt.Errorf("%d stages, but %d points in stages.go", len(stages), len(points))
	}
	for _, view := range seenViews {
		var names []string
		inherited := map[string]bool{}
		for _, right := range rightsOf(view) {
			names = append(names, code(right.Name()))
			for i := range right.NumMethod() {
				inherited[right.Method(i).Name] = true
			}
			if !slices.Contains(seenRights, right) {
				seenRights = append(seenRights, right)
			}
		}
		var own []string
		for _, name := range methods(reflect.PointerTo(view)) {
			if !inherited[name] {
				own = append(own, described(src, view, name))
			}
		}
		views = append(views, []string{code("*hook." + view.Name()), strings.Join(names, " "), strings.Join(own, "<br>")})
	}
	for _, right := range seenRights {
		var lines []string
		for _, name := range methods(right) {
			lines = append(lines, described(src, right, name))
		}
		meaning := strings.TrimPrefix(src.comments[right.Name()], right.Name()+" ")
		rights = append(rights, []string{code(right.Name()), meaning, strings.Join(lines, "<br>")})
	}
	return map[string]string{
		"stages": table([]string{"", "stage", "phase", "view", "on a hook's error"}, stages),
		"views":  table([]string{"view", "rights", "and of its own"}, views),
		"rights": table([]string{"right", "meaning", "methods"}, rights),
	}, nil
}

// rightsOf lists the structs that a view is composed of, those of views in it
// included.
func rightsOf(view reflect.Type) (rights []reflect.Type) {
	for i := range view.NumField() {
		f := view.Field(i)
		if f.PkgPath == "" { // an exported one is a view
			rights = append(rights, rightsOf(f.Type)...)
			continue
		}
		rights = append(rights, f.Type)
	}
	return rights
}

func methods(t reflect.Type) (names []string) {
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// described names a method with its comment, which may stand at a view inside.
func described(src *source, on reflect.Type, method string) string {
	comment, ok := src.comments[on.Name()+"."+method]
	for i := 0; !ok && i < on.NumField(); i++ {
		comment, ok = src.comments[on.Field(i).Name+"."+method]
	}
	if !ok {
		return code(method)
	}
	return code(method) + " " + strings.TrimPrefix(comment, method+" ")
}
