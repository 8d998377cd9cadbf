// Package app holds the code that commands share: the App with its streams and flags, the session
// with the servers, errors with their exit statuses, flags of several commands and the printing
// of lists.
//
// It must hold no command. internal/cli, the packages of commands below it and internal/devcli
// may import it.
package app
