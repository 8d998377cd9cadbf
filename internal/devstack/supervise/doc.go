// Package supervise starts server processes that end with the program that started them, even if that program is killed.
//
// A Guard is a small shell process that reads a pipe from its owner. If the pipe closes without the final line, the owner has died: the
// guard stops its process and deletes the paths in Remove. A server starts behind a gate: a shell that runs the server only after the guard
// knows its process id, so a killed owner cannot leave a server behind. Pdeathsig of Linux would need no shell, but it follows a thread and
// not the process, and macOS has no equivalent.
//
// It must not depend on what it runs. Only internal/devstack, the packages below it and the CLI, for the worker of `pawl dev`, import it.
package supervise
