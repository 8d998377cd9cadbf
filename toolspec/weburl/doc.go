// Package weburl reads URLs of web pages.
//
// Conditions of a policy and the adapter that fetches pages both read a URL with Parse, so policy judges
// the host that is fetched. It must never do I/O or know what a policy or a tool is. Every package above
// toolspec may import it.
package weburl
