// Package pawl is the root of a durable tool-invocation worker: a call that
// policy allows happens once, survives crashes and deploys, and waits for people
// as long as it takes.
//
// The root has no code. Embedders start at package worker, callers at package client, tool
// authors at package toolspec. Nothing may import this package.
package pawl
