// Package hook is the lifecycle of a tool call as data: the 32 stages and their
// order, what a hook may do at each, the registry that sorts hooks, the plan
// that pins them to a call, and the one runner.
//
// A stage is a typed value. Its view is the list of rights a hook has there, so
// an illegal verb does not compile:
//
//	hook.New("office-hours", hook.Priority(100),
//		hook.WillAuthorize.Do(func(ctx context.Context, v *hook.Gate) error {
//			return v.WaitUntil(opening(v.Now()), "outside office hours")
//		}))
//
// The package knows no Temporal, no database and no JSON Schema library. It
// must never order stages anywhere but in stages.go. Everyone above toolspec
// may import it.
package hook
