// Package web is the adapter that gives tools pages of the public web and results of search services: it
// implements capability.Web and capability.Search.
//
// It must never connect to an address that is not public, except for the host of the configured search
// service; send a credential, a cookie or the URL of another page; read the proxy variables of the
// environment; or put a part of a URL or of an answer into an error. Only composition roots may import it.
//
// # What confines a fetch
//
// Package toolspec/weburl reads the URL, here and in conditions of policy. A guard resolves the host, checks
// every address and connects to a checked address, so a second answer of DNS changes nothing; the dialer
// checks the address of the socket once more. Each redirect passes through the same steps. A redirect to
// another host is not followed, because policy has judged the host of the call only.
//
// # What it does not stop
//
// A page can hold instructions for the model. A program on the worker's own network that has a public address
// can be reached. HTML is parsed in this process: its size, its depth and the number of its elements are
// bounded. A PDF is read in a WebAssembly sandbox, which has no files, bounded memory and a time limit.
package web
