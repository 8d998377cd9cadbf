package sandbox

// modalOfMachine are the calls of this architecture, besides those of all, that give a file a mode: none.
var modalOfMachine []modalCall
