// Package sources runs the sources of the tools of a worker: it keeps their tools in the worker's registry while the
// sources come, go and fail. It has the sources of tools in files and of registered tools. It must not know what a tool
// does, nor decide who may call it.
package sources
