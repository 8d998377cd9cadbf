package hooks

import (
	"context"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// Sessions has every call reach willBindProviders, where the stage recalls what
// was bound for its session. It stands there where a worker has factories.
func Sessions() hook.Hook {
	return hook.New("sessions", hook.Builtin(), hook.WillBindProviders.Do(func(context.Context, *hook.Binder) error { return nil }))
}
