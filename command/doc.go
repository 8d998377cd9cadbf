// Package command is the main function of a program that has the tools of its team and the commands of
// operators, so that production needs one program: worker, migrate, doctor, policy, connections and the
// other commands of pawl, without those for development.
//
//	func main() {
//		os.Exit(command.Main(worker.Tools(mine), worker.Hooks(limit)))
//	}
//
// Programs of users import it. It holds no command: these are in internal/cli. A program that needs only
// the worker calls worker.Main, and links no command.
package command
