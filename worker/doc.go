// Package worker is the composition root: it reads the configuration, binds
// tools to capabilities, registers the hooks and runs a Temporal worker until it is
// told to stop.
//
//	func main() {
//		os.Exit(worker.Main(worker.Tools(mine...), worker.Hooks(limit)))
//	}
//
// A program with a configuration, a logger or a context of its own calls Run.
//
// It is the only importer of the dependency container. It must hold no rule of
// its own: those live in the packages it puts together. Doors and programs of
// users import it.
package worker
