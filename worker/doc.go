// Package worker is the composition root: it reads the configuration, binds
// tools to capabilities, seats the hooks and runs a Temporal worker until it is
// told to stop.
//
//	func main() {
//		config, err := worker.LoadConfig()
//		…
//		err = worker.Run(ctx, config, worker.Tools(mine...), worker.Hooks(limit))
//	}
//
// It is the only importer of the dependency container. It must hold no rule of
// its own: those live in the packages it puts together. Doors and programs of
// users import it.
package worker
