// Package remotetool describes tools that run in a process of another program, of any language: the document that
// has their contracts, the request of a call, the answer, and how an answer ends an attempt.
//
// The package holds no client and no key: a Sender sends the requests. It must never read a file, or take a text of
// an answer for an error of Pawl.
//
// internal/remote, the worker and internal/docsgen import it.
package remotetool
