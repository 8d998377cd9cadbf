// Package output has the one function through which every value leaves a worker: the value of a tool,
// of a probe, of a hook, of a response and of the cache. It redacts the value, checks it, stores it if
// it is large, shortens it and describes it, in one order.
//
// It must never decide how a call goes on. The activities of attempts, stages and the cache import it.
package output
