// Package filewatch looks at the files of workspaces and queues their changes as events of triggers.
//
// It must not read a file: it compares names, sizes and times. It must not leave a workspace or follow a link, so it looks through
// capability.Files. Package worker imports it.
package filewatch
