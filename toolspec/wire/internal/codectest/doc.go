// Package codectest holds what every codec of toolspec/wire must keep, as tests
// that a codec's own tests call: fixtures with exact members, streams that are
// cut anywhere, calls that were never sent, arguments that come back as they
// were.
//
// Tests of the packages below toolspec/wire import it, nobody else.
package codectest
