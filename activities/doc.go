// Package activities is the half of a call that touches the world: admit,
// hydrate, the 32 stages, execute and settle. Execute is the only caller of a
// tool in the program.
//
// It owns no connection and no file: what it needs it declares in deps.go, and
// the adapters under internal implement it. It must never let the text of an
// error or panic, raw output or a credential leave an activity. The worker
// imports it; adapters import it for the types of its interfaces.
package activities
