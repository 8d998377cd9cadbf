// Package supervise starts server processes that cannot outlive the program that started them, even when that is killed.
//
// A Guard is a small shell process that reads a pipe from its owner. When the pipe closes without a goodbye, the owner has died:
// the guard stops what it watches and deletes what it was told to. A server starts behind a gate, a shell that runs it only after
// the guard knows its process id, so there is no moment at which a killed owner leaves one behind. Linux's Pdeathsig
// would need no shell, but it follows a thread, not the process, and macOS has nothing like it.
//
// It must never know what it runs. Only internal/devstack, the packages below it and the CLI, for the worker of `pawl dev`, import it.
package supervise
