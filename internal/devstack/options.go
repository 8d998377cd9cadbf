package devstack

// Options configure a Stack. The zero value is a throwaway stack without a UI.
type Options struct {
	Dir              string       // data directory; "" = temporary directories, removed on Stop
	Persist          bool         // keep the data of both servers in Dir, needed then, across starts
	Fsync            bool         // make Postgres commits survive a power cut; always on with Persist
	FileStore        bool         // keep Temporal's state in a file, so that it survives Temporal().Kill and Restart
	FullServer       bool         // run a full Temporal server with Postgres persistence instead of a dev server
	UI               bool         // serve the Temporal UI
	SearchAttributes []string     // names of keyword search attributes to register; at most 10
	TemporalAddress  string       // use this server, host:port, instead of starting one; its owner configures its UI and its search attributes
	DatabaseURL      string       // use this database instead of starting a server
	Progress         func(string) // gets one line at a time, from one goroutine at a time; nil = silent
}
