// Package room bounds how much work runs at the same time, in all and for each tenant, host or the like.
//
// It must never decide what the bounds are. Every package that bounds work may import it.
package room
