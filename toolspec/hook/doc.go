// Package hook is the lifecycle of a tool call as data: the 32 stages and their order, the rights
// of a hook at each stage, the registry of hooks, the plan that records the hooks of a call, and
// the runner.
//
// A stage is a typed value. The view of a stage has only the methods that a hook may call there, so
// an illegal call does not compile:
//
//	hook.New("office-hours", hook.Priority(100),
//		hook.WillAuthorize.Do(func(ctx context.Context, v *hook.Gate) error {
//			return v.WaitUntil(opening(v.Now()), "outside office hours")
//		}))
//
// The package uses no Temporal, no database and no JSON Schema library. Only stages.go may order
// stages. Every package above toolspec may import it.
package hook
