// Package worker is the composition root: it reads the configuration, binds tools to capabilities,
// registers the hooks and runs a Temporal worker until the process gets a signal to stop.
//
//	func main() {
//		os.Exit(worker.Main(worker.Tools(mine...), worker.Hooks(limit)))
//	}
//
// A program with its own configuration, logger or context calls Run.
//
// Only this package imports the dependency container. It must not contain rules about calls: these
// rules are in the packages that it connects. The command line and the programs of users import
// it.
package worker
