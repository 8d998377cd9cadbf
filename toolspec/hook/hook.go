package hook

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// Hook is a named set of handlers. Plans record the name, so do not change it.
type Hook struct {
	name     string
	priority int
	filter   func(ctx context.Context, f Facts) (bool, error)
	// durable is the longest run of a durable hook, and 0 for other hooks.
	durable  time.Duration
	handlers []Handler
	// namesApprovers says that the hook has the option NamesApprovers.
	namesApprovers bool
}

// Handler is a function at a stage, made by Point.Do.
type Handler struct {
	stage Stage
	call  func(ctx context.Context, c *core) error
}

// Option configures a hook: Handler, Priority, Filter, Durable, NamesApprovers.
type Option interface{ apply(*Hook) }

func (h Handler) apply(to *Hook) { to.handlers = append(to.handlers, h) }

type option func(*Hook)

func (o option) apply(to *Hook) { o(to) }

// Priority orders the hooks of a stage. A hook with a higher priority runs earlier at will*, around*
// and on*, and later at did*. The default is 0.
func Priority(p int) Option { return option(func(h *Hook) { h.priority = p }) }

// Filter skips the hook at a stage if f returns false. An error of f counts as an error of the
// hook.
func Filter(f func(ctx context.Context, facts Facts) (bool, error)) Option {
	return option(func(h *Hook) { h.filter = f })
}

// New returns a hook. NewRegistry checks it and returns its errors.
func New(name string, options ...Option) Hook {
	h := Hook{name: name}
	for _, o := range options {
		o.apply(&h)
	}
	return h
}

// Name returns the name of the hook.
func (h Hook) Name() string { return h.name }

var hookName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (h Hook) check() error {
	if !hookName.MatchString(h.name) {
		return fmt.Errorf("hook %q: the name must be 1–63 of a-z, 0-9 and '-', beginning with a letter", h.name)
	}
	if isReserved(h.name) {
		return fmt.Errorf("hook %q: Pawl has a step of this name; choose another name", h.name)
	}
	if len(h.handlers) == 0 {
		return fmt.Errorf("hook %q has no handler: give it at least one stage, such as hook.WillAuthorize.Do(f)", h.name)
	}
	seen := make(map[Stage]bool)
	for _, handler := range h.handlers {
		if seen[handler.stage] {
			return fmt.Errorf("hook %q has two handlers at %s", h.name, handler.stage)
		}
		seen[handler.stage] = true
	}
	if err := h.checkNamesApprovers(); err != nil {
		return err
	}
	return h.checkDurable()
}

func (h Hook) at(s Stage) (Handler, bool) {
	for _, handler := range h.handlers {
		if handler.stage == s {
			return handler, true
		}
	}
	return Handler{}, false
}
