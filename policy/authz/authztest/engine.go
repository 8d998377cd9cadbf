package authztest

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/policy/authz"
)

// AllowAll allows every request.
type AllowAll struct{}

// Check allows.
func (AllowAll) Check(context.Context, authz.Request) (authz.Decision, error) {
	return authz.Allow(), nil
}

// Engine answers with a function, and keeps the requests.
type Engine struct {
	mu     sync.Mutex
	answer func(context.Context, authz.Request) (authz.Decision, error)
	asked  []authz.Request
}

// New makes an engine that answers with f.
func New(f func(context.Context, authz.Request) (authz.Decision, error)) *Engine {
	return &Engine{answer: f}
}

// DenyAll says no to everything.
func DenyAll() *Engine {
	return New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Deny(authz.Permission), nil })
}

// Answer makes the engine answer with f from now on.
func (e *Engine) Answer(f func(context.Context, authz.Request) (authz.Decision, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = f
}

// Asked returns the questions so far.
func (e *Engine) Asked() []authz.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]authz.Request(nil), e.asked...)
}

// Check asks the function.
func (e *Engine) Check(ctx context.Context, r authz.Request) (authz.Decision, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	answer := e.answer
	e.mu.Unlock()
	return answer(ctx, r)
}
