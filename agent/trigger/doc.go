// Package trigger describes triggers: data that says which event starts a run of which agent, as whom and with which
// message. It reads the files in which people write triggers, makes the input of a run from an event, and starts the
// run through a Store and a Starter.
//
// It must never let a value of an event decide anything but the text of the message: tenant, actor, tools and
// connections of a run are those of the trigger. Commands, adapters, activities and handlers import it. Workflows
// must not, because it imports YAML.
package trigger
